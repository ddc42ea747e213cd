//! `GET /problems` and `GET /problems/{slug}`: a page for each kind of problem, which its `type` points to.

use std::fmt::Write;

use axum::extract::Request;
use axum::response::Response;

use super::page;
use crate::path::{Named, named};
use crate::problem::catalogue::{ENTRIES, Entry};
use crate::problem::{Problem, Slug};

/// The pages load nothing at all; their style stands in them.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
    code{background:#f3f3f3;padding:0 .2em}td,th{text-align:left;padding:.2rem 1rem .2rem 0;vertical-align:top}\
    @media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}code{background:#2a2a2a}a{color:#8ab4f8}}";

impl Named for Slug {
    fn from_parameter(parameter: &str) -> Option<Self> {
        Self::from_word(parameter)
    }
}

/// List the kinds of problem
#[utoipa::path(
    get, path = "/problems", tag = "operations", security(()),
    responses((status = 200, description = "A page with a line for each kind.", body = String, content_type = "text/html"))
)]
pub async fn problems() -> Response {
    let mut rows = String::new();
    for entry in ENTRIES {
        let (word, status) = (entry.word, entry.status);
        // Writing to a string does not fail.
        let _ = writeln!(
            rows,
            "<tr><td>{status}</td><td><a href=\"/problems/{word}\">{word}</a></td><td>{}</td></tr>",
            entry.title
        );
    }
    let body = format!("<table><tr><th>Status</th><th>Problem</th><th>Title</th></tr>\n{rows}</table>");
    page(POLICY, document("Problems", &body))
}

/// Read what a kind of problem means
#[utoipa::path(
    get, path = "/problems/{slug}", tag = "operations", security(()),
    params(("slug" = String, Path, description = "The last word of a problem's `type`.", example = "insufficient-funds")),
    responses((status = 200, description = "The page of that kind.", body = String, content_type = "text/html"))
)]
pub async fn problem(request: Request) -> Result<Response, Problem> {
    let (mut parts, _) = request.into_parts();
    let slug: Slug = named(&mut parts).await?;
    Ok(page(POLICY, document(slug.entry().title, &description(slug.entry()))))
}

/// The words are ours, and hold nothing that HTML would take for markup; a test below holds them to it.
fn description(entry: &Entry) -> String {
    let mut members = String::new();
    for (name, meaning) in entry.members {
        let _ = write!(members, "<li><code>{name}</code>: {meaning}</li>");
    }
    let members = if members.is_empty() { "none".to_owned() } else { format!("<ul>{members}</ul>") };
    let yes = |answer| if answer { "yes" } else { "no" };
    format!(
        "<p>{when}</p>\n<p>{remedy}</p>\n<table>\n<tr><th>Type</th><td><code>{path}</code></td></tr>\n\
         <tr><th>Status</th><td>{status}</td></tr>\n<tr><th>May succeed later, under the same key</th><td>{retryable}</td></tr>\n\
         <tr><th>Stored under the key and replayed</th><td>{stored}</td></tr>\n<tr><th>Further members</th><td>{members}</td></tr>\n\
         </table>\n<p><a href=\"/problems\">All problems</a></p>",
        when = entry.when,
        remedy = entry.remedy,
        path = entry.slug.path(),
        status = entry.status,
        retryable = yes(entry.retryable),
        stored = yes(entry.stored),
    )
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>{title} – Onefold</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><style>{STYLE}</style></head>\n\
         <body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_all_that_the_catalogue_does_in_plain_words() {
        for entry in ENTRIES {
            let texts = entry.members.iter().flat_map(|(name, meaning)| [*name, *meaning]);
            for text in texts.chain([entry.title, entry.when, entry.remedy]) {
                assert!(!text.contains(['<', '>', '&']), "{text} is not plain");
                assert!(document(entry.title, &description(entry)).contains(text));
            }
        }
    }
}
