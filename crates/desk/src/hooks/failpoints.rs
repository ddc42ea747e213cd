//! Hooks that are told by text what to do, such as `saved=20*off->return`: pass twenty times after the step `saved`, and
//! then end the process.
//!
//! The text is a list of `step=actions`, with `;` in between. The steps are those of [`Step::name`]; the actions are those
//! of [`fail_parallel::cfg`], and `return` ends the process there and then, as if it had been killed.

use std::process;
use std::sync::Arc;

use fail_parallel::{FailPointRegistry, fail_point_async};

use super::{Hooks, Step};

/// The variable that holds the text.
pub const VARIABLE: &str = "ONEFOLD_FAILPOINTS";

/// Why a text is not understood.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FailpointsError {
    /// There is no `=` in a part of it.
    #[error("{0:?} is not of the form step=actions")]
    NoActions(String),
    /// No step has that name: it would never be reached.
    #[error("there is no step {0:?}")]
    NoSuchStep(String),
    /// The actions of a step are not understood.
    #[error("the actions of {step}: {why}")]
    BadActions {
        /// The step.
        step: &'static str,
        /// What is wrong with them.
        why: String,
    },
}

/// The failpoints of a text. Each answer is one registry of its own: those of one desk do nothing to another.
///
/// # Errors
///
/// If the text names a step that there is not, or an action that there is not.
pub fn registry_of(text: &str) -> Result<Arc<FailPointRegistry>, FailpointsError> {
    let registry = Arc::new(FailPointRegistry::new());
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, actions) =
            part.split_once('=').ok_or_else(|| FailpointsError::NoActions(part.to_owned()))?;
        let step = Step::ALL
            .iter()
            .chain(&Step::DETOURS)
            .map(|step| step.name())
            .find(|step| *step == name.trim())
            .ok_or_else(|| FailpointsError::NoSuchStep(name.to_owned()))?;
        fail_parallel::cfg(registry.clone(), step, actions)
            .map_err(|why| FailpointsError::BadActions { step, why })?;
    }
    Ok(registry)
}

/// Hooks that do what the registry says of the step.
pub fn hooks(registry: Arc<FailPointRegistry>) -> Hooks {
    Hooks::pausing(move |step| {
        let registry = registry.clone();
        async move {
            // Neither a panic, which a lane survives, nor an exit, which would run what is registered for it.
            fail_point_async!(registry, step.name(), |_| process::abort());
        }
    })
}

pub(super) fn hooks_from_environment() -> Hooks {
    match std::env::var(VARIABLE) {
        Ok(text) => {
            let registry = registry_of(&text).unwrap_or_else(|error| panic!("{VARIABLE}: {error}"));
            tracing::warn!(failpoints = text, "this process is told to fail");
            hooks(registry)
        }
        Err(std::env::VarError::NotPresent) => Hooks::default(),
        Err(error) => panic!("{VARIABLE}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_can_be_named() {
        for step in Step::ALL.into_iter().chain(Step::DETOURS) {
            let text = format!(" {}=3*off->return ; ", step.name());
            let registry = registry_of(&text).expect("a step");
            let configured = fail_parallel::list(registry);
            assert_eq!(configured, [(step.name().to_owned(), "3*off->return".to_owned())]);
        }
    }

    #[test]
    fn what_would_never_fail_is_refused() {
        let no_step = FailpointsError::NoSuchStep("svaed".to_owned());
        assert_eq!(registry_of("begun=off;svaed=return").err(), Some(no_step));
        assert_eq!(registry_of("saved").err(), Some(FailpointsError::NoActions("saved".to_owned())));
        assert!(matches!(registry_of("saved=crash"), Err(FailpointsError::BadActions { step: "saved", .. })));
    }

    #[tokio::test]
    async fn a_failpoint_acts_after_its_step_and_no_other() {
        let hooks = hooks(registry_of("saved=1*off->panic(as told)").expect("failpoints"));
        for step in [Step::Saved, Step::Loaded, Step::Committed] {
            hooks.after(step).await;
        }
        let failed = tokio::spawn(async move { hooks.after(Step::Saved).await }).await;
        assert!(failed.expect_err("it fails").is_panic());
    }
}
