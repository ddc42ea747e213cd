//! Keys and ids that everybody knows, for the four endpoints of the demo.
//!
//! **They protect nothing**: they stand here for all to read. A server may accept them only together with the demo data
//! and on a loopback listener, as it does the demo's API key.
//!
//! Each provider has two sides. What the server is configured with is named for the endpoint ([`stripe::SECRETS`],
//! [`alipay::PLATFORM_PUBLIC_KEY`] …). What only the provider has, and with which the simulator signs, says `PRIVATE` in
//! its name, but for [`alipay::APP_PRIVATE_KEY`] and [`wechatpay::MERCHANT_PRIVATE_KEY`]: with these the *server* signs
//! what it asks the provider. Private keys are PKCS #8 and public keys SPKI, both in PEM; RSA keys have 2048 bits.

/// The endpoint `stripe`.
pub mod stripe {
    /// The endpoint's signing secret.
    pub const SECRET: &str = "whsec_onefold_demo_only_protects_nothing";
    /// The secret that follows it: while a secret is being rolled, the provider signs with both.
    pub const NEXT_SECRET: &str = "whsec_onefold_demo_only_after_the_roll";
    /// What the server configures: it accepts either, as during a roll.
    pub const SECRETS: [&str; 2] = [SECRET, NEXT_SECRET];
    /// The key that the server shows when it asks Stripe.
    pub const API_KEY: &str = "sk_test_onefold_demo_only";
    /// The demo is a test account: its events say `"livemode": false`.
    pub const LIVEMODE: bool = false;
}

/// The endpoint `alipay`.
pub mod alipay {
    /// The app that notifications are for.
    pub const APP_ID: &str = "2021000000000000";
    /// The seller whose money it is.
    pub const SELLER_ID: &str = "2088000000000000";
    /// With what Alipay signs notifications and answers.
    pub const PLATFORM_PRIVATE_KEY: &str = include_str!("demo_keys/alipay_platform_private.pem");
    /// With what the server verifies them.
    pub const PLATFORM_PUBLIC_KEY: &str = include_str!("demo_keys/alipay_platform_public.pem");
    /// With what the server signs its own requests to Alipay.
    pub const APP_PRIVATE_KEY: &str = include_str!("demo_keys/alipay_app_private.pem");
    /// With what Alipay verifies those.
    pub const APP_PUBLIC_KEY: &str = include_str!("demo_keys/alipay_app_public.pem");
}

/// The endpoint `wechatpay`.
pub mod wechatpay {
    /// The merchant.
    pub const MCHID: &str = "1900000001";
    /// The app that payments are made in.
    pub const APPID: &str = "wxonefolddemo00001";
    /// The APIv3 key, 32 bytes: it decrypts what a notification carries.
    pub const API_V3_KEY: &str = "onefold-demo-apiv3-key-32-bytes!";
    /// The id of WeChat Pay's public key, which stands in `Wechatpay-Serial` when that key has signed.
    pub const PUBLIC_KEY_ID: &str = "PUB_KEY_ID_0119000000012026112900000000000001";
    /// With what WeChat Pay signs in public-key mode.
    pub const PLATFORM_PRIVATE_KEY: &str = include_str!("demo_keys/wechatpay_platform_private.pem");
    /// With what the server verifies it.
    pub const PLATFORM_PUBLIC_KEY: &str = include_str!("demo_keys/wechatpay_platform_public.pem");
    /// The serial number of the platform certificate, as it stands in `Wechatpay-Serial` when its key has signed.
    pub const PLATFORM_CERTIFICATE_SERIAL: &str = "5DE0000000000000000000000000000000000001";
    /// With what WeChat Pay signs in certificate mode.
    pub const PLATFORM_CERTIFICATE_PRIVATE_KEY: &str =
        include_str!("demo_keys/wechatpay_platform_certificate_private.pem");
    /// The platform certificate (X.509, PEM), with which the server verifies it; valid from 2020 to 2120.
    pub const PLATFORM_CERTIFICATE: &str = include_str!("demo_keys/wechatpay_platform_certificate.pem");
    /// The serial number of the merchant's own certificate, which its requests name.
    pub const MERCHANT_SERIAL: &str = "3DE0000000000000000000000000000000000001";
    /// With what the server signs its own requests to WeChat Pay.
    pub const MERCHANT_PRIVATE_KEY: &str = include_str!("demo_keys/wechatpay_merchant_private.pem");
    /// With what WeChat Pay verifies those.
    pub const MERCHANT_PUBLIC_KEY: &str = include_str!("demo_keys/wechatpay_merchant_public.pem");
}

/// The endpoint `standard`.
pub mod standard {
    /// The secret of `v1` signatures: the base64 of 34 bytes.
    pub const SECRET: &str = "whsec_b25lZm9sZC1kZW1vLW9ubHktcHJvdGVjdHMtbm90aGluZw==";
    /// The secret that follows it: during a rotation the sender signs with both.
    pub const NEXT_SECRET: &str = "whsec_b25lZm9sZC1kZW1vLW9ubHktcm90YXRlZC1wcm90ZWN0cy1ub3RoaW5n";
    /// What the server configures: it accepts either.
    pub const SECRETS: [&str; 2] = [SECRET, NEXT_SECRET];
    /// With what the sender makes `v1a` signatures (ed25519): the base64 of the 32 bytes of the seed, then the 32 of the
    /// public key.
    pub const PRIVATE_KEY: &str =
        "whsk_FoOEYMsSoTzI8JQBqJkl18fEBHMdQXd5DqkjzymBqax70Kqu9FYioIHqOWrXi3mrPoni+Bg8256At0rcCI1h6g==";
    /// With what the server verifies them: the base64 of 32 bytes.
    pub const PUBLIC_KEY: &str = "whpk_e9CqrvRWIqCB6jlq14t5qz6J4vgYPNuegLdK3AiNYeo=";
    /// The key that the server shows when it asks this provider.
    pub const API_KEY: &str = "onefold-demo-only-standard-key";
}
