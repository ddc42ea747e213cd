//! Payment callbacks: `/v1/callbacks/{endpoint}`. No API key: who sends is proved by the provider's signature.

pub mod take;
