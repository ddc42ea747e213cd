//! The flags that several commands of `onefold simulate` share.

use std::time::Duration;

use clap::Args;
use provider_simulator::delivery::{FASTER_DEFAULT, Plan};
use provider_simulator::event::Outcome;
use provider_simulator::target::Target;
use provider_simulator::{Amount, Provider, Style};

use crate::demo;

/// The payment, and the server that is to hear of it.
#[derive(Clone, Debug, Args)]
pub struct PaymentFlags {
    /// The payment's number
    #[arg(value_name = "PAYMENT_NO")]
    pub payment_no: String,
    /// Who is played: stripe, alipay, wechatpay or standard [default: the provider that the payment names]
    #[arg(long, value_name = "PROVIDER")]
    pub provider: Option<Provider>,
    /// The server
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub server: Target,
    /// The client's API key, to ask the server for amount and currency
    #[arg(long, env = "ONEFOLD_API_KEY", hide_env_values = true, value_name = "KEY", default_value = demo::API_KEY)]
    pub api_key: String,
    /// The endpoint of the callbacks [default: the provider's name, as in the demo]
    #[arg(long, value_name = "NAME")]
    pub endpoint: Option<String>,
    /// How much is paid [default: what is owed]
    #[arg(long, value_name = "AMOUNT")]
    pub amount: Option<Amount>,
    /// In which currency [default: that of the payment]
    #[arg(long, value_name = "CURRENCY")]
    pub currency: Option<String>,
    /// The amount is wrong by one unit
    #[arg(long)]
    pub wrong_amount: bool,
    /// The currency is another
    #[arg(long)]
    pub wrong_currency: bool,
    /// Which payment under this number it is: the second is that of a buyer who pays twice
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub nth: u32,
    /// Let it happen at this running `onefold simulate provider`, which keeps books, calls its own server back, and knows
    /// what went back before
    #[arg(long, value_name = "URL", conflicts_with = "endpoint")]
    pub through: Option<Target>,
    /// How it is signed: usual; rolled (two secrets: stripe, standard); gbk (alipay); certificate (wechatpay); ed25519
    /// (standard)
    #[arg(long, value_name = "STYLE", default_value = "usual", value_parser = style)]
    pub style: Style,
}

/// How it is delivered, and what goes wrong. The flags that spoil attempts take a number: the first so many of each copy
/// are spoiled, one if there is none.
#[derive(Clone, Debug, Args)]
pub struct DeliveryFlags {
    /// How often the same event is delivered
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub copies: u32,
    /// All at once
    #[arg(long)]
    pub parallel: bool,
    /// How long to wait first, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub delay: u64,
    /// By what the provider's pauses between attempts are divided: 3600 makes an hour a second
    #[arg(long, value_name = "FACTOR", default_value_t = FASTER_DEFAULT, value_parser = clap::value_parser!(u32).range(1..))]
    pub faster: u32,
    /// How often a delivery is tried at most [default: as often as the provider does]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub attempts: Option<u32>,
    /// The body is changed on the way
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_value_t = 0, default_missing_value = "1")]
    pub tampered: u32,
    /// The signature is an hour old
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_value_t = 0, default_missing_value = "1")]
    pub stale: u32,
    /// The answer is lost: the provider closes the connection with it unread
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_value_t = 0, default_missing_value = "1")]
    pub lose_answers: u32,
    /// The provider hangs up while the server is at work
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, require_equals = true, default_value_t = 0, default_missing_value = "1")]
    pub hang_up: u32,
    /// Print each delivery as one line of JSON
    #[arg(long)]
    pub json: bool,
}

impl DeliveryFlags {
    /// What the simulator is to do.
    pub fn plan(&self) -> Plan {
        Plan {
            copies: self.copies,
            parallel: self.parallel,
            delay_ms: u64::try_from(Duration::from_secs(self.delay).as_millis()).unwrap_or(u64::MAX),
            faster: self.faster,
            attempts_max: self.attempts,
            tampered: self.tampered,
            stale: self.stale,
            answers_lost: self.lose_answers,
            hung_up: self.hang_up,
        }
    }
}

fn style(name: &str) -> Result<Style, String> {
    match name {
        "usual" => Ok(Style::Usual),
        "rolled" => Ok(Style::Rolled),
        "gbk" => Ok(Style::Gbk),
        "certificate" => Ok(Style::Certificate),
        "ed25519" => Ok(Style::Ed25519),
        _ => Err("must be usual, rolled, gbk, certificate or ed25519".to_owned()),
    }
}

/// What becomes of a refund, by its name.
pub fn outcome(name: &str) -> Result<Outcome, String> {
    match name {
        "done" => Ok(Outcome::Done),
        "abnormal" => Ok(Outcome::Abnormal),
        "closed" => Ok(Outcome::Closed),
        _ => Err("must be done, abnormal or closed".to_owned()),
    }
}
