//! Grafana's dashboard, made from `deploy/grafana/onefold.toml`.
//!
//! Grafana's own format says in fifty lines what a panel says in five, positions above all; so the five are what is
//! written and reviewed, and this makes the rest. The format is that of Grafana's dashboards as code: a grid of 24
//! columns, and `schemaVersion` 39, which Grafana 11 and later read.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Value, json};

/// Columns of Grafana's grid.
const COLUMNS: u32 = 24;

/// A panel that is a number.
const STAT: Size = Size { width: 4, height: 4 };

/// A panel that is a time series.
const SERIES: Size = Size { width: 8, height: 8 };

#[derive(Clone, Copy)]
struct Size {
    width: u32,
    height: u32,
}

/// The dashboard, as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dashboard {
    /// What it is called.
    pub title: String,
    /// What Grafana's URLs call it.
    pub uid: String,
    /// Its rows, from the top.
    pub row: Vec<Row>,
}

/// Panels under a heading.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The heading.
    pub title: String,
    /// Its panels, from the left.
    pub panel: Vec<Panel>,
}

/// A panel.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Panel {
    /// What it shows.
    pub title: String,
    /// What is to be known of it.
    pub about: String,
    /// How it shows it.
    #[serde(default)]
    pub kind: Kind,
    /// One of Grafana's units.
    #[serde(default = "no_unit")]
    pub unit: String,
    /// What it asks Prometheus for.
    pub query: Vec<Query>,
}

/// How a panel shows what it has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// As lines over time.
    #[default]
    Timeseries,
    /// As the last number.
    Stat,
}

/// What is asked of Prometheus.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// The expression, with Grafana's `$__rate_interval` in it where it takes a rate.
    pub expr: String,
    /// What each of its series is called.
    pub legend: String,
}

fn no_unit() -> String {
    "short".to_owned()
}

impl Dashboard {
    /// Reads it from a tree of this repository.
    ///
    /// # Errors
    ///
    /// If the file is not there, or has a key that nobody knows.
    pub fn read(tree: &Path) -> anyhow::Result<Self> {
        let path = tree.join("deploy/grafana/onefold.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(toml::from_str(&text)?)
    }

    /// Every query, with the titles of its row and panel.
    pub fn queries(&self) -> impl Iterator<Item = (String, &Query)> {
        self.row.iter().flat_map(|row| {
            row.panel.iter().flat_map(|panel| {
                panel.query.iter().map(|query| (format!("{} / {}", row.title, panel.title), query))
            })
        })
    }

    /// The text of the file that Grafana reads.
    pub fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.document()).expect("it is JSON already");
        text.push('\n');
        text
    }

    fn document(&self) -> Value {
        json!({
            "uid": self.uid,
            "title": self.title,
            "schemaVersion": 39,
            "editable": false,
            "refresh": "30s",
            "time": { "from": "now-1h", "to": "now" },
            "timezone": "utc",
            "templating": { "list": [{
                "type": "datasource",
                "name": "source",
                "label": "Prometheus",
                "query": "prometheus",
            }] },
            "panels": self.placed(),
        })
    }

    /// The panels, each with its place: from the left, a new line where one is full, a heading above each row.
    fn placed(&self) -> Vec<Value> {
        let mut panels = Vec::new();
        let mut top = 0;
        for row in &self.row {
            let id = panels.len() + 1;
            let place = place((0, top), Size { width: COLUMNS, height: 1 });
            panels
                .push(json!({ "id": id, "type": "row", "title": row.title, "gridPos": place, "panels": [] }));
            top += 1;
            let (mut left, mut height) = (0, 0);
            for panel in &row.panel {
                let size = panel.size();
                if left + size.width > COLUMNS {
                    (left, top, height) = (0, top + height, 0);
                }
                panels.push(panel.document(panels.len() + 1, (left, top)));
                (left, height) = (left + size.width, height.max(size.height));
            }
            top += height;
        }
        panels
    }
}

impl Panel {
    fn size(&self) -> Size {
        match self.kind {
            Kind::Stat => STAT,
            Kind::Timeseries => SERIES,
        }
    }

    fn document(&self, id: usize, at: (u32, u32)) -> Value {
        let (kind, options) = match self.kind {
            Kind::Stat => ("stat", json!({ "reduceOptions": { "calcs": ["lastNotNull"] } })),
            Kind::Timeseries => {
                ("timeseries", json!({ "legend": { "displayMode": "list", "placement": "bottom" } }))
            }
        };
        let targets: Vec<Value> = self.query.iter().zip('A'..).map(|(query, id)| query.target(id)).collect();
        json!({
            "id": id,
            "type": kind,
            "title": self.title,
            "description": self.about,
            "gridPos": place(at, self.size()),
            "datasource": source(),
            "fieldConfig": { "defaults": { "unit": self.unit, "min": 0 }, "overrides": [] },
            "options": options,
            "targets": targets,
        })
    }
}

impl Query {
    fn target(&self, id: char) -> Value {
        json!({
            "refId": id,
            "datasource": source(),
            "expr": self.expr,
            "legendFormat": self.legend,
        })
    }
}

/// Whichever Prometheus is chosen at the dashboard's top: the only one, where there is one.
fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${source}" })
}

fn place((left, top): (u32, u32), size: Size) -> Value {
    json!({ "x": left, "y": top, "w": size.width, "h": size.height })
}
