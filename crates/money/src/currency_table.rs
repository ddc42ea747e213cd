//! The table behind [`Currency`](crate::Currency): every active code of ISO 4217 that has a minor unit.
//!
//! To be compared with list one ("current currency and funds codes") of the ISO 4217 maintenance agency, SIX, as
//! of 2026-01-01, whose English names it uses. A row is removed when its code is withdrawn and no amount in it is
//! stored any more; a row whose minor unit changes needs a migration of every stored amount, so it is never
//! edited in passing.

/// What ISO 4217 says about one currency.
pub(crate) struct Row {
    pub(crate) code: &'static str,
    pub(crate) numeric_code: u16,
    pub(crate) minor_unit: u32,
    pub(crate) name: &'static str,
}

/// The largest minor unit of the table, in digits; what an amount's integer may grow to follows from it.
pub(crate) const MINOR_UNIT_MAX: u32 = 4;

/// Sorted by code: lookup is a binary search, and the order of currencies is the order of rows.
pub(crate) static ROWS: [Row; 165] = [
    row("AED", 784, 2, "UAE Dirham"),
    row("AFN", 971, 2, "Afghani"),
    row("ALL", 8, 2, "Lek"),
    row("AMD", 51, 2, "Armenian Dram"),
    row("AOA", 973, 2, "Kwanza"),
    row("ARS", 32, 2, "Argentine Peso"),
    row("AUD", 36, 2, "Australian Dollar"),
    row("AWG", 533, 2, "Aruban Florin"),
    row("AZN", 944, 2, "Azerbaijan Manat"),
    row("BAM", 977, 2, "Convertible Mark"),
    row("BBD", 52, 2, "Barbados Dollar"),
    row("BDT", 50, 2, "Taka"),
    row("BHD", 48, 3, "Bahraini Dinar"),
    row("BIF", 108, 0, "Burundi Franc"),
    row("BMD", 60, 2, "Bermudian Dollar"),
    row("BND", 96, 2, "Brunei Dollar"),
    row("BOB", 68, 2, "Boliviano"),
    row("BOV", 984, 2, "Mvdol"),
    row("BRL", 986, 2, "Brazilian Real"),
    row("BSD", 44, 2, "Bahamian Dollar"),
    row("BTN", 64, 2, "Ngultrum"),
    row("BWP", 72, 2, "Pula"),
    row("BYN", 933, 2, "Belarusian Ruble"),
    row("BZD", 84, 2, "Belize Dollar"),
    row("CAD", 124, 2, "Canadian Dollar"),
    row("CDF", 976, 2, "Congolese Franc"),
    row("CHE", 947, 2, "WIR Euro"),
    row("CHF", 756, 2, "Swiss Franc"),
    row("CHW", 948, 2, "WIR Franc"),
    row("CLF", 990, 4, "Unidad de Fomento"),
    row("CLP", 152, 0, "Chilean Peso"),
    row("CNY", 156, 2, "Yuan Renminbi"),
    row("COP", 170, 2, "Colombian Peso"),
    row("COU", 970, 2, "Unidad de Valor Real"),
    row("CRC", 188, 2, "Costa Rican Colon"),
    row("CUP", 192, 2, "Cuban Peso"),
    row("CVE", 132, 2, "Cabo Verde Escudo"),
    row("CZK", 203, 2, "Czech Koruna"),
    row("DJF", 262, 0, "Djibouti Franc"),
    row("DKK", 208, 2, "Danish Krone"),
    row("DOP", 214, 2, "Dominican Peso"),
    row("DZD", 12, 2, "Algerian Dinar"),
    row("EGP", 818, 2, "Egyptian Pound"),
    row("ERN", 232, 2, "Nakfa"),
    row("ETB", 230, 2, "Ethiopian Birr"),
    row("EUR", 978, 2, "Euro"),
    row("FJD", 242, 2, "Fiji Dollar"),
    row("FKP", 238, 2, "Falkland Islands Pound"),
    row("GBP", 826, 2, "Pound Sterling"),
    row("GEL", 981, 2, "Lari"),
    row("GHS", 936, 2, "Ghana Cedi"),
    row("GIP", 292, 2, "Gibraltar Pound"),
    row("GMD", 270, 2, "Dalasi"),
    row("GNF", 324, 0, "Guinean Franc"),
    row("GTQ", 320, 2, "Quetzal"),
    row("GYD", 328, 2, "Guyana Dollar"),
    row("HKD", 344, 2, "Hong Kong Dollar"),
    row("HNL", 340, 2, "Lempira"),
    row("HTG", 332, 2, "Gourde"),
    row("HUF", 348, 2, "Forint"),
    row("IDR", 360, 2, "Rupiah"),
    row("ILS", 376, 2, "New Israeli Sheqel"),
    row("INR", 356, 2, "Indian Rupee"),
    row("IQD", 368, 3, "Iraqi Dinar"),
    row("IRR", 364, 2, "Iranian Rial"),
    row("ISK", 352, 0, "Iceland Krona"),
    row("JMD", 388, 2, "Jamaican Dollar"),
    row("JOD", 400, 3, "Jordanian Dinar"),
    row("JPY", 392, 0, "Yen"),
    row("KES", 404, 2, "Kenyan Shilling"),
    row("KGS", 417, 2, "Som"),
    row("KHR", 116, 2, "Riel"),
    row("KMF", 174, 0, "Comorian Franc"),
    row("KPW", 408, 2, "North Korean Won"),
    row("KRW", 410, 0, "Won"),
    row("KWD", 414, 3, "Kuwaiti Dinar"),
    row("KYD", 136, 2, "Cayman Islands Dollar"),
    row("KZT", 398, 2, "Tenge"),
    row("LAK", 418, 2, "Lao Kip"),
    row("LBP", 422, 2, "Lebanese Pound"),
    row("LKR", 144, 2, "Sri Lanka Rupee"),
    row("LRD", 430, 2, "Liberian Dollar"),
    row("LSL", 426, 2, "Loti"),
    row("LYD", 434, 3, "Libyan Dinar"),
    row("MAD", 504, 2, "Moroccan Dirham"),
    row("MDL", 498, 2, "Moldovan Leu"),
    row("MGA", 969, 2, "Malagasy Ariary"),
    row("MKD", 807, 2, "Denar"),
    row("MMK", 104, 2, "Kyat"),
    row("MNT", 496, 2, "Tugrik"),
    row("MOP", 446, 2, "Pataca"),
    row("MRU", 929, 2, "Ouguiya"),
    row("MUR", 480, 2, "Mauritius Rupee"),
    row("MVR", 462, 2, "Rufiyaa"),
    row("MWK", 454, 2, "Malawi Kwacha"),
    row("MXN", 484, 2, "Mexican Peso"),
    row("MXV", 979, 2, "Mexican Unidad de Inversion (UDI)"),
    row("MYR", 458, 2, "Malaysian Ringgit"),
    row("MZN", 943, 2, "Mozambique Metical"),
    row("NAD", 516, 2, "Namibia Dollar"),
    row("NGN", 566, 2, "Naira"),
    row("NIO", 558, 2, "Cordoba Oro"),
    row("NOK", 578, 2, "Norwegian Krone"),
    row("NPR", 524, 2, "Nepalese Rupee"),
    row("NZD", 554, 2, "New Zealand Dollar"),
    row("OMR", 512, 3, "Rial Omani"),
    row("PAB", 590, 2, "Balboa"),
    row("PEN", 604, 2, "Sol"),
    row("PGK", 598, 2, "Kina"),
    row("PHP", 608, 2, "Philippine Peso"),
    row("PKR", 586, 2, "Pakistan Rupee"),
    row("PLN", 985, 2, "Zloty"),
    row("PYG", 600, 0, "Guarani"),
    row("QAR", 634, 2, "Qatari Rial"),
    row("RON", 946, 2, "Romanian Leu"),
    row("RSD", 941, 2, "Serbian Dinar"),
    row("RUB", 643, 2, "Russian Ruble"),
    row("RWF", 646, 0, "Rwanda Franc"),
    row("SAR", 682, 2, "Saudi Riyal"),
    row("SBD", 90, 2, "Solomon Islands Dollar"),
    row("SCR", 690, 2, "Seychelles Rupee"),
    row("SDG", 938, 2, "Sudanese Pound"),
    row("SEK", 752, 2, "Swedish Krona"),
    row("SGD", 702, 2, "Singapore Dollar"),
    row("SHP", 654, 2, "Saint Helena Pound"),
    row("SLE", 925, 2, "Leone"),
    row("SOS", 706, 2, "Somali Shilling"),
    row("SRD", 968, 2, "Surinam Dollar"),
    row("SSP", 728, 2, "South Sudanese Pound"),
    row("STN", 930, 2, "Dobra"),
    row("SVC", 222, 2, "El Salvador Colon"),
    row("SYP", 760, 2, "Syrian Pound"),
    row("SZL", 748, 2, "Lilangeni"),
    row("THB", 764, 2, "Baht"),
    row("TJS", 972, 2, "Somoni"),
    row("TMT", 934, 2, "Turkmenistan New Manat"),
    row("TND", 788, 3, "Tunisian Dinar"),
    row("TOP", 776, 2, "Pa’anga"),
    row("TRY", 949, 2, "Turkish Lira"),
    row("TTD", 780, 2, "Trinidad and Tobago Dollar"),
    row("TWD", 901, 2, "New Taiwan Dollar"),
    row("TZS", 834, 2, "Tanzanian Shilling"),
    row("UAH", 980, 2, "Hryvnia"),
    row("UGX", 800, 0, "Uganda Shilling"),
    row("USD", 840, 2, "US Dollar"),
    row("USN", 997, 2, "US Dollar (Next day)"),
    row("UYI", 940, 0, "Uruguay Peso en Unidades Indexadas (UI)"),
    row("UYU", 858, 2, "Peso Uruguayo"),
    row("UYW", 927, 4, "Unidad Previsional"),
    row("UZS", 860, 2, "Uzbekistan Sum"),
    row("VED", 926, 2, "Bolívar Soberano"),
    row("VES", 928, 2, "Bolívar Soberano"),
    row("VND", 704, 0, "Dong"),
    row("VUV", 548, 0, "Vatu"),
    row("WST", 882, 2, "Tala"),
    row("XAD", 396, 2, "Arab Accounting Dinar"),
    row("XAF", 950, 0, "CFA Franc BEAC"),
    row("XCD", 951, 2, "East Caribbean Dollar"),
    row("XCG", 532, 2, "Caribbean Guilder"),
    row("XOF", 952, 0, "CFA Franc BCEAO"),
    row("XPF", 953, 0, "CFP Franc"),
    row("YER", 886, 2, "Yemeni Rial"),
    row("ZAR", 710, 2, "Rand"),
    row("ZMW", 967, 2, "Zambian Kwacha"),
    row("ZWG", 924, 2, "Zimbabwe Gold"),
];

/// Active codes without a minor unit, sorted: metals, accounting units of institutions, bond market units, the
/// code for tests and the code for "no currency". Nobody can say how many digits an amount of them has, so they
/// are no money here; they are listed to be refused by name.
pub(crate) static CODES_WITHOUT_MINOR_UNIT: [&str; 13] =
    ["XAG", "XAU", "XBA", "XBB", "XBC", "XBD", "XDR", "XPD", "XPT", "XSU", "XTS", "XUA", "XXX"];

const fn row(code: &'static str, numeric_code: u16, minor_unit: u32, name: &'static str) -> Row {
    Row { code, numeric_code, minor_unit, name }
}

// What the rest of the crate takes for granted does not compile when it is untrue.
const _: () = {
    assert!(ROWS.len() <= 256, "a currency is held as the index of its row, in one byte");
    let mut index = 0;
    while index < ROWS.len() {
        assert!(ROWS[index].minor_unit <= MINOR_UNIT_MAX, "raise MINOR_UNIT_MAX, and check NUMERIC(28, 4)");
        assert!(ROWS[index].code.len() == 3, "an alphabetic code has three letters");
        assert!(
            index == 0 || precedes(ROWS[index - 1].code, ROWS[index].code),
            "sort the rows by code, once each"
        );
        index += 1;
    }
};

const fn precedes(left: &str, right: &str) -> bool {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    let mut index = 0;
    while index < 3 {
        if left[index] != right[index] {
            return left[index] < right[index];
        }
        index += 1;
    }
    false
}
