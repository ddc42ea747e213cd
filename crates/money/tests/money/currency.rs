//! The currency table against what ISO 4217 says, and lookup against the table.

use std::collections::HashSet;

use money::{Currency, UnknownCurrency};
use proptest::prelude::*;

use crate::currency;

#[test]
fn the_table_has_the_165_active_codes_with_a_minor_unit() {
    assert_eq!(Currency::all().count(), 165);
}

#[test]
fn codes_and_numeric_codes_are_well_formed_and_unique() {
    let mut codes = HashSet::new();
    let mut numeric_codes = HashSet::new();
    for currency in Currency::all() {
        assert!(currency.code().len() == 3 && currency.code().bytes().all(|byte| byte.is_ascii_uppercase()));
        assert!((1..1000).contains(&currency.numeric_code()), "{currency}");
        assert!(!currency.name().trim().is_empty(), "{currency}");
        assert!(codes.insert(currency.code()), "{currency} is listed twice");
        assert!(numeric_codes.insert(currency.numeric_code()), "{currency} shares its numeric code");
    }
}

#[test]
fn currencies_are_ordered_by_code() {
    let all: Vec<_> = Currency::all().collect();
    assert!(all.is_sorted());
    assert!(all.is_sorted_by_key(|currency| currency.code()));
}

#[test]
fn minor_units_are_those_of_iso_4217() {
    let with_minor_unit = |minor_unit: u32| -> Vec<&str> {
        Currency::all()
            .filter(|currency| currency.minor_unit() == minor_unit)
            .map(|currency| currency.code())
            .collect()
    };
    assert_eq!(
        with_minor_unit(0),
        [
            "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "UYI", "VND", "VUV",
            "XAF", "XOF", "XPF"
        ]
    );
    assert_eq!(with_minor_unit(3), ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"]);
    assert_eq!(with_minor_unit(4), ["CLF", "UYW"]);
    assert_eq!(with_minor_unit(2).len(), 165 - 17 - 7 - 2);
}

#[test]
fn well_known_currencies_carry_their_numbers_and_names() {
    for (code, numeric_code, name) in [
        ("ALL", 8, "Lek"),
        ("CNY", 156, "Yuan Renminbi"),
        ("EUR", 978, "Euro"),
        ("GBP", 826, "Pound Sterling"),
        ("JPY", 392, "Yen"),
        ("KWD", 414, "Kuwaiti Dinar"),
        ("SLE", 925, "Leone"),
        ("USD", 840, "US Dollar"),
        ("VED", 926, "Bolívar Soberano"),
        ("XAD", 396, "Arab Accounting Dinar"),
        ("XCG", 532, "Caribbean Guilder"),
        ("ZWG", 924, "Zimbabwe Gold"),
    ] {
        assert_eq!((currency(code).numeric_code(), currency(code).name()), (numeric_code, name));
    }
}

#[test]
fn every_code_finds_its_own_currency() {
    for currency in Currency::all() {
        assert_eq!(Currency::from_code(currency.code()), Ok(currency));
        assert_eq!(currency.to_string(), currency.code());
        assert_eq!(format!("{currency:?}"), currency.code());
    }
}

#[test]
fn of_all_codes_of_three_letters_only_those_in_the_table_are_found() {
    let table: HashSet<_> = Currency::all().map(Currency::code).collect();
    let letters = b'A'..=b'Z';
    let mut found = 0;
    for first in letters.clone() {
        for second in letters.clone() {
            for third in letters.clone() {
                let code = String::from_utf8(vec![first, second, third]).unwrap();
                let in_table = table.contains(code.as_str());
                assert_eq!(Currency::from_code(&code).is_ok(), in_table, "{code}");
                found += usize::from(in_table);
            }
        }
    }
    assert_eq!(found, table.len());
}

#[test]
fn withdrawn_codes_are_refused_as_not_active() {
    for code in ["ANG", "BGN", "CUC", "DEM", "HRK", "SLL", "ZWL", "QQQ"] {
        assert_eq!(Currency::from_code(code), Err(UnknownCurrency::NotActive), "{code}");
    }
}

#[test]
fn codes_without_a_minor_unit_are_refused_by_name() {
    for code in ["XAG", "XAU", "XBA", "XBB", "XBC", "XBD", "XDR", "XPD", "XPT", "XSU", "XTS", "XUA", "XXX"] {
        assert_eq!(Currency::from_code(code), Err(UnknownCurrency::NoMinorUnit), "{code}");
    }
}

#[test]
fn what_is_not_three_upper_case_letters_is_not_a_code() {
    let long = "USD".repeat(400_000);
    for code in ["", "U", "US", "USDT", "usd", "Usd", " USD", "USD ", "U\0D", "840", "ＵＳＤ", "É1", &long]
    {
        assert_eq!(Currency::from_code(code), Err(UnknownCurrency::NotACode));
    }
}

proptest! {
    #[test]
    fn no_text_makes_lookup_panic(text in any::<String>()) {
        if let Ok(currency) = Currency::from_code(&text) {
            prop_assert_eq!(currency.code(), text);
        }
    }
}
