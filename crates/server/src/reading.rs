//! A request that changes nothing, from its first header to its answer. Every `GET` under `/v1` comes this way.

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use client::ClientId;
use http::{HeaderValue, header};
use serde::Serialize;

use crate::admission::client_of;
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
    /// 404 for a path that can name nothing. Before that the layers in front have refused what is 401, 429 or 403.
    pub async fn read(request: Request) -> Result<Self, Problem> {
        let (mut parts, _) = request.into_parts();
        let client = client_of(&parts.extensions)?;
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
