//! A provider as a sender of signed messages.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::alipay::{Alipay, Charset};
use crate::event::{Event, Unsayable};
use crate::message::Message;
use crate::provider::Provider;
use crate::standard::{Signing, Standard};
use crate::stripe::Stripe;
use crate::wechatpay::{PlatformKey, WechatPay};

/// A provider with the demo's keys.
#[derive(Debug)]
pub enum Sender {
    /// Stripe.
    Stripe(Stripe),
    /// Alipay.
    Alipay(Alipay),
    /// WeChat Pay.
    WechatPay(WechatPay),
    /// A follower of Standard Webhooks.
    Standard(Standard),
}

/// How it signs, where there is a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Style {
    /// As the provider does for a new customer.
    #[default]
    Usual,
    /// With two secrets, while one takes the other's place (Stripe, Standard Webhooks).
    Rolled,
    /// In GBK (Alipay).
    Gbk,
    /// With the platform certificate's key (WeChat Pay).
    Certificate,
    /// With ed25519 (Standard Webhooks).
    Ed25519,
}

/// The provider does not sign in that style.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{provider} does not sign like that")]
pub struct NoSuchStyle {
    /// The provider.
    pub provider: Provider,
}

impl Sender {
    /// The provider with the demo's keys, and with ways to sign that it has.
    ///
    /// # Errors
    ///
    /// When it does not have this one.
    pub fn demo(provider: Provider, style: Style) -> Result<Self, NoSuchStyle> {
        match (provider, style) {
            (Provider::Stripe, Style::Usual) => Ok(Self::Stripe(Stripe::demo(false))),
            (Provider::Stripe, Style::Rolled) => Ok(Self::Stripe(Stripe::demo(true))),
            (Provider::Alipay, Style::Usual) => Ok(Self::Alipay(Alipay::demo(Charset::Utf8))),
            (Provider::Alipay, Style::Gbk) => Ok(Self::Alipay(Alipay::demo(Charset::Gbk))),
            (Provider::WechatPay, Style::Usual) => {
                Ok(Self::WechatPay(WechatPay::demo(PlatformKey::PublicKey)))
            }
            (Provider::WechatPay, Style::Certificate) => {
                Ok(Self::WechatPay(WechatPay::demo(PlatformKey::Certificate)))
            }
            (Provider::Standard, Style::Usual) => Ok(Self::Standard(Standard::demo(Signing::Secret))),
            (Provider::Standard, Style::Rolled) => Ok(Self::Standard(Standard::demo(Signing::BothSecrets))),
            (Provider::Standard, Style::Ed25519) => Ok(Self::Standard(Standard::demo(Signing::PrivateKey))),
            _ => Err(NoSuchStyle { provider }),
        }
    }

    /// Which provider it is.
    pub const fn provider(&self) -> Provider {
        match self {
            Self::Stripe(_) => Provider::Stripe,
            Self::Alipay(_) => Provider::Alipay,
            Self::WechatPay(_) => Provider::WechatPay,
            Self::Standard(_) => Provider::Standard,
        }
    }

    /// The event, signed for being sent at `at`.
    ///
    /// # Errors
    ///
    /// When the provider sends no message about it, or cannot write its amount.
    pub fn message(&self, event: &Event, at: DateTime<Utc>) -> Result<Message, Unsayable> {
        match self {
            Self::Stripe(stripe) => stripe.message(event, at),
            Self::Alipay(alipay) => alipay.message(event, at),
            Self::WechatPay(wechatpay) => wechatpay.message(event, at),
            Self::Standard(standard) => standard.message(event, at),
        }
    }
}
