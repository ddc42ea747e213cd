//! A request that changes nothing, from its first header to its answer. Every `GET` under `/v1` comes this way.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use client::ClientId;
use http::{HeaderValue, header};
use serde::Serialize;

use crate::access_log::Facts;
use crate::admission::admit;
use crate::app::AppState;
use crate::path::{self, Named};
use crate::problem::Problem;
use crate::query::Query;
use crate::render;

/// A request that changes nothing, as far as it can be checked without looking anything up.
#[derive(Debug)]
pub struct Reading<N> {
    /// Who asks. It sees only what is its own.
    pub client_id: ClientId,
    /// What its path names.
    pub path: N,
    /// What its query asks for.
    pub query: Query,
}

impl<N: Named> Reading<N> {
    /// Reads a request whose route and method are known.
    ///
    /// # Errors
    ///
    /// In order: 401, 429, 403, 404 for a path that can name nothing.
    pub async fn read(state: &AppState, request: Request) -> Result<Self, Problem> {
        let (mut parts, _) = request.into_parts();
        let facts = Facts::of(&parts.extensions);
        let client = admit(state, &parts, &facts).await?;
        let path = path::named(&mut parts).await?;
        Ok(Self { client_id: client.client_id, path, query: Query::parse(parts.uri.query()) })
    }
}

/// 200 with a body of JSON.
pub fn ok(body: &impl Serialize) -> Response {
    let mut response = Response::new(Body::from(render::body_of(body)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(render::JSON));
    response
}
