//! How Stripe counts each currency. <https://docs.stripe.com/currencies>

use money::{Amount, Currency};

use crate::amount_reading::IntegerScale;
use crate::payable::{Unpayable, payable_on_scale};

/// Counted in whole units.
const ZERO_DECIMAL: [&str; 15] =
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"];
/// Counted in thousandths, of which the last digit is always 0.
const THREE_DECIMAL: [&str; 5] = ["BHD", "JOD", "KWD", "OMR", "TND"];

/// The scale of a currency, or `None` where it is not known for sure.
///
/// Most currencies are counted in hundredths, ISK (which has none any more) among them, in whole kronur. UGX stands both
/// in the list of whole units and among the special cases that are multiplied by 100, so an amount of it could be taken
/// for a hundredth: it is refused. So is a currency that is in neither list and has no hundredths in ISO 4217.
pub(super) fn scale_of(currency: Currency) -> Option<IntegerScale> {
    let (fraction_digits, multiple_of) = match (currency.code(), currency.minor_unit()) {
        ("UGX", _) => return None,
        ("ISK", _) => (2, 100),
        (code, _) if ZERO_DECIMAL.contains(&code) => (0, 1),
        (code, _) if THREE_DECIMAL.contains(&code) => (3, 10),
        (_, 2) => (2, 1),
        _ => return None,
    };
    Some(IntegerScale { fraction_digits, multiple_of })
}

/// Whether Stripe counts so much exactly.
pub(super) fn payable(amount: Amount) -> Result<(), Unpayable> {
    payable_on_scale(amount, scale_of(amount.currency()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amount_reading::read_integer;
    use crate::json::Json;

    fn read(code: &str, integer: &str) -> Option<String> {
        let currency = Currency::from_code(code).unwrap();
        let written = Json::Number(integer.to_owned());
        let amount = read_integer(Some(&written), currency, scale_of(currency)).exact();
        amount.map(|amount| amount.to_string())
    }

    #[test]
    fn each_currency_has_its_own_minor_unit() {
        for (code, integer, amount) in [
            ("USD", "8880", "88.80"),
            ("JPY", "500", "500"),
            ("KRW", "1000", "1000"),
            ("MGA", "500", "500.00"),
            ("ISK", "500", "5"),
            ("HUF", "1045", "10.45"),
            ("TWD", "1045", "10.45"),
            ("KWD", "18600", "18.600"),
            ("BHD", "10", "0.010"),
        ] {
            assert_eq!(read(code, integer).as_deref(), Some(amount), "{code}");
        }
    }

    #[test]
    fn what_cannot_be_meant_or_is_not_known_is_refused() {
        for (code, integer) in
            [("ISK", "4010"), ("KWD", "5124"), ("UGX", "500"), ("CLF", "1"), ("IQD", "1000")]
        {
            assert_eq!(read(code, integer), None, "{code}");
        }
    }

    #[test]
    fn every_listed_currency_exists() {
        for code in ZERO_DECIMAL.into_iter().chain(THREE_DECIMAL) {
            assert!(Currency::from_code(code).is_ok(), "{code}");
        }
    }
}
