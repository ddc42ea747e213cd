//! `onefold simulate`: the payment providers, played against a running server.
//!
//! - this file: the commands, and what becomes of their flags;
//! - [`flags`]: the flags that they share.

pub mod flags;

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use provider_simulator::clock::now;
use provider_simulator::delivery::{self, Callbacks};
use provider_simulator::event::Outcome;
use provider_simulator::look_up::{self, Shown};
use provider_simulator::report::{Line, LineObject};
use provider_simulator::scenario::{self, Action, RefundAsked, Scenario};
use provider_simulator::{Amount, Provider, Sender};

use self::flags::{DeliveryFlags, PaymentFlags};
use super::{print_line, tell};

/// What happens at a provider.
#[derive(Clone, Debug, Subcommand)]
pub enum SimulateCommand {
    /// The buyer pays: the provider calls back, and tries again until it is acknowledged
    Pay(Box<PayFlags>),
    /// An attempt to pay fails (Stripe, Standard Webhooks)
    Fail(Box<HappeningFlags>),
    /// The payment is closed unpaid (Stripe, Alipay)
    Close(Box<HappeningFlags>),
    /// Money goes back to the buyer
    Refund(Box<RefundFlags>),
}

/// The flags of `simulate fail` and `simulate close`.
#[derive(Clone, Debug, Args)]
pub struct HappeningFlags {
    #[command(flatten)]
    payment: PaymentFlags,
    #[command(flatten)]
    delivery: DeliveryFlags,
}

/// The flags of `simulate pay`.
#[derive(Clone, Debug, Args)]
pub struct PayFlags {
    #[command(flatten)]
    happening: HappeningFlags,
    /// An attempt failed before, and the news of it arrives after that of the payment (Stripe, Standard Webhooks)
    #[arg(long)]
    out_of_order: bool,
}

/// The flags of `simulate refund`.
#[derive(Clone, Debug, Args)]
pub struct RefundFlags {
    #[command(flatten)]
    happening: HappeningFlags,
    /// How much goes back [default: all that is left]
    #[arg(long, value_name = "AMOUNT")]
    refund: Option<Amount>,
    /// How much went back before: some providers tell the total of all refunds
    #[arg(long, value_name = "AMOUNT", default_value = "0")]
    refunded_before: Amount,
    /// The receiver's number for the refund; the same number is the same refund [default: R1-PAYMENT_NO]
    #[arg(long, value_name = "REFUND_NO")]
    refund_no: Option<String>,
    /// What becomes of it: done, abnormal or closed (the last two: WeChat Pay)
    #[arg(long, value_name = "OUTCOME", default_value = "done", value_parser = flags::outcome)]
    outcome: Outcome,
    /// The news of the refund arrives before that of the payment
    #[arg(long)]
    out_of_order: bool,
}

impl SimulateCommand {
    fn into_parts(self) -> (HappeningFlags, Action, bool) {
        match self {
            Self::Pay(pay) => (pay.happening, Action::Pay, pay.out_of_order),
            Self::Fail(happening) => (*happening, Action::Fail, false),
            Self::Close(happening) => (*happening, Action::Close, false),
            Self::Refund(refund) => {
                let payment_no = &refund.happening.payment.payment_no;
                let asked = RefundAsked {
                    refund_no: refund.refund_no.unwrap_or_else(|| format!("R1-{payment_no}")),
                    amount: refund.refund,
                    refunded_before: refund.refunded_before,
                    outcome: refund.outcome,
                };
                (refund.happening, Action::Refund(asked), refund.out_of_order)
            }
        }
    }
}

/// Makes it happen, and prints a line for every delivery. Exits with 1 when the provider gave one up.
pub async fn run(command: SimulateCommand) -> anyhow::Result<ExitCode> {
    let (HappeningFlags { payment, delivery }, action, overtaken) = command.into_parts();
    let scenario = scenario(&payment, action, overtaken).await?;
    let sender = Sender::demo(scenario.provider, scenario.style)?;
    let events = scenario.events(now())?;
    let endpoint = payment.endpoint.clone().unwrap_or_else(|| scenario.provider.to_string());
    let callbacks = Callbacks { server: payment.server.clone(), endpoint };
    let acknowledged = delivery::deliver(&sender, &events, &callbacks, &delivery.plan(), &|line| {
        print(&line, delivery.json)
    })
    .await?;
    if !delivery.json
        && let Ok(shown) = look_up(&payment).await
    {
        tell(&format!("payment {}: {}", payment.payment_no, shown.status));
    }
    Ok(if acknowledged { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(line: &Line, as_json: bool) {
    let written = if as_json {
        serde_json::to_string(&LineObject::from(line)).expect("an object of texts and numbers can be written")
    } else {
        line.to_string()
    };
    // The deliveries go on when nobody reads of them any more.
    let _ = print_line(&written);
}

async fn look_up(payment: &PaymentFlags) -> Result<Shown, look_up::NotShown> {
    look_up::payment(&payment.server, &payment.api_key, &payment.payment_no).await
}

/// What the flags do not say, the server is asked for.
async fn scenario(flags: &PaymentFlags, action: Action, overtaken: bool) -> anyhow::Result<Scenario> {
    let (provider, amount, currency) = match (flags.provider, flags.amount, &flags.currency) {
        (Some(provider), Some(amount), Some(currency)) => (provider, amount, currency.clone()),
        (provider, amount, currency) => {
            let shown = look_up(flags).await?;
            let provider = match provider {
                Some(provider) => provider,
                None => shown.provider.parse::<Provider>().ok().with_context(|| {
                    format!(
                        "the payment is to be paid at {}: choose who is played with --provider",
                        shown.provider
                    )
                })?,
            };
            let amount = match amount {
                Some(amount) => amount,
                None => shown.amount.parse().context("the server shows an amount that is none")?,
            };
            (provider, amount, currency.clone().unwrap_or(shown.currency))
        }
    };
    if !(currency.len() == 3 && currency.bytes().all(|byte| byte.is_ascii_uppercase())) {
        bail!("{currency:?} is no currency: three capital letters");
    }
    Ok(Scenario {
        action,
        provider,
        payment_no: flags.payment_no.clone(),
        amount: if flags.wrong_amount { scenario::wrong_amount(amount, &currency) } else { amount },
        currency: if flags.wrong_currency {
            scenario::wrong_currency(&currency).to_owned()
        } else {
            currency
        },
        nth: flags.nth,
        overtaken,
        style: flags.style,
    })
}

#[cfg(test)]
mod tests;
