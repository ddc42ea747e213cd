//! The alerts, as Prometheus's own tool sees them, and the runbook.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

fn tree(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// The values of a key in the rules, in order.
fn values<'t>(rules: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    rules.lines().filter_map(move |line| line.trim_start().trim_start_matches("- ").strip_prefix(key))
}

fn promtool(arguments: &[&str]) -> anyhow::Result<()> {
    let ran = Command::new("promtool").args(arguments).current_dir(tree("deploy/prometheus")).output();
    let output = ran.context("promtool is not to be had: install the package prometheus")?;
    let told = [output.stdout, output.stderr].concat();
    anyhow::ensure!(output.status.success(), "promtool {arguments:?}: {}", String::from_utf8_lossy(&told));
    Ok(())
}

#[test]
fn each_alert_fires_when_it_should_and_keeps_still_otherwise() -> anyhow::Result<()> {
    promtool(&["check", "rules", "rules.yml"])?;
    promtool(&["check", "config", "--syntax-only", "prometheus.yml"])?;
    promtool(&["test", "rules", "rules.test.yml"])?;
    let rules = fs::read_to_string(tree("deploy/prometheus/rules.yml"))?;
    let tests = fs::read_to_string(tree("deploy/prometheus/rules.test.yml"))?;
    for alert in values(&rules, "alert: ") {
        for course in ["fires", "keeps still"] {
            let name = format!("- name: {alert} {course}");
            assert!(tests.lines().any(|line| line.trim() == name), "rules.test.yml has no test {name}");
        }
    }
    Ok(())
}

#[test]
fn each_alert_names_its_section_of_the_runbook_and_each_section_an_alert() -> anyhow::Result<()> {
    let rules = fs::read_to_string(tree("deploy/prometheus/rules.yml"))?;
    let runbook = fs::read_to_string(tree("docs/runbook.md"))?;
    let alerts: Vec<&str> = values(&rules, "alert: ").collect();
    let sections: Vec<&str> = runbook.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(alerts, sections, "rules.yml on the left, docs/runbook.md on the right");
    let urls: Vec<&str> = values(&rules, "runbook_url: ").collect();
    let expected: Vec<String> =
        alerts.iter().map(|alert| format!("docs/runbook.md#{}", alert.to_lowercase())).collect();
    assert_eq!(urls, expected);
    for (section, text) in sections.iter().zip(runbook.split("\n## ").skip(1)) {
        for part in ["**It means**", "**Look**", "**Do**"] {
            assert!(text.contains(part), "the section {section} does not say {part}");
        }
    }
    Ok(())
}

#[test]
fn the_rules_and_the_runbook_ask_for_metrics_that_there_are() -> anyhow::Result<()> {
    let reference = fs::read_to_string(tree("docs/reference/metrics.md"))?;
    let listed: Vec<&str> = reference
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`').map(|(name, _)| name))
        .collect();
    let mut asked_for = 0;
    for path in [
        "deploy/prometheus/rules.yml",
        "deploy/prometheus/rules.test.yml",
        "docs/runbook.md",
        "deploy/grafana/onefold.toml",
    ] {
        let text = fs::read_to_string(tree(path))?;
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for name in words.filter(|word| word.starts_with("onefold_")) {
            let is_listed = listed.iter().any(|metric| {
                name.strip_prefix(metric)
                    .is_some_and(|end| ["", "_total", "_bucket", "_count", "_sum", "_info"].contains(&end))
            });
            assert!(is_listed, "{path} asks for {name}, which docs/reference/metrics.md does not have");
            asked_for += 1;
        }
    }
    assert!(asked_for > 20, "few metrics were found: {asked_for}");
    Ok(())
}
