//! Transfers: `/v1/transfers`.

pub mod transfer;
