//! `onefold simulate`: the payment providers, played against a running server.
//!
//! - this file: the commands, and what becomes of their flags;
//! - [`flags`]: the flags that they share;
//! - [`provider`]: the providers as a server, with books that outlast one command;
//! - [`flood`]: as many callbacks as the server answers.

pub mod flags;
pub mod flood;
pub mod provider;

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use provider_simulator::clock::now;
use provider_simulator::control::ScenarioAsked;
use provider_simulator::delivery::{self, Callbacks};
use provider_simulator::event::Outcome;
use provider_simulator::look_up::{self, Shown};
use provider_simulator::report::{Line, LineObject};
use provider_simulator::scenario::{self, Action, RefundAsked, Scenario};
use provider_simulator::{Amount, Provider, Sender, through};

use self::flags::{DeliveryFlags, PaymentFlags};
use self::flood::FloodFlags;
use self::provider::{ProviderFlags, StatementFlags};
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
    /// Be all four providers at one address: keep books, answer queries and refunds, and call back
    Provider(Box<ProviderFlags>),
    /// Deliver as many callbacks as the server answers, and measure
    Flood(Box<FloodFlags>),
    /// Print the settlement statement of a running `simulate provider`, as CSV
    Statement(StatementFlags),
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

impl RefundFlags {
    fn asked(&self) -> RefundAsked {
        let numbered = || format!("R1-{}", self.happening.payment.payment_no);
        RefundAsked {
            refund_no: self.refund_no.clone().unwrap_or_else(numbered),
            amount: self.refund,
            refunded_before: self.refunded_before,
            outcome: self.outcome,
        }
    }
}

/// Runs the command. Exits with 1 when the provider gave a delivery up.
pub async fn run(command: SimulateCommand) -> anyhow::Result<ExitCode> {
    match command {
        SimulateCommand::Pay(flags) => happen(&flags.happening, Action::Pay, flags.out_of_order).await,
        SimulateCommand::Fail(flags) => happen(&flags, Action::Fail, false).await,
        SimulateCommand::Close(flags) => happen(&flags, Action::Close, false).await,
        SimulateCommand::Refund(flags) => {
            happen(&flags.happening, Action::Refund(flags.asked()), flags.out_of_order).await
        }
        SimulateCommand::Flood(flags) => flood::run(&flags).await,
        SimulateCommand::Provider(flags) => provider::serve(*flags).await,
        SimulateCommand::Statement(flags) => provider::print_statement(&flags).await,
    }
}

/// Makes it happen, here or at a running provider, and prints a line for every delivery.
async fn happen(flags: &HappeningFlags, action: Action, overtaken: bool) -> anyhow::Result<ExitCode> {
    let HappeningFlags { payment, delivery } = flags;
    let scenario = scenario(payment, action, overtaken).await?;
    let acknowledged = match &payment.through {
        Some(office) => {
            let asked = ScenarioAsked { scenario, plan: delivery.plan(), silent: false };
            let told = through::let_happen(office, &asked).await?;
            told.deliveries.iter().for_each(|line| print_object(line, delivery.json));
            if let Some(silent) = told.silent_because {
                tell(&format!("it is in the books; {silent}"));
            }
            told.acknowledged
        }
        None => {
            let sender = Sender::demo(scenario.provider, scenario.style)?;
            let events = scenario.events(now())?;
            let endpoint = payment.endpoint.clone().unwrap_or_else(|| scenario.provider.to_string());
            let callbacks = Callbacks { server: payment.server.clone(), endpoint };
            let report = |line| print(&line, delivery.json);
            delivery::deliver(&sender, &events, &callbacks, &delivery.plan(), &report).await?
        }
    };
    if !delivery.json
        && let Ok(shown) = look_up(payment).await
    {
        tell(&format!("payment {}: {}", payment.payment_no, shown.status));
    }
    Ok(if acknowledged { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(line: &Line, as_json: bool) {
    print_object(&LineObject::from(line), as_json);
}

fn print_object(line: &LineObject, as_json: bool) {
    let written = match as_json {
        true => serde_json::to_string(line).expect("an object of texts and numbers can be written"),
        false => line.text.clone(),
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
