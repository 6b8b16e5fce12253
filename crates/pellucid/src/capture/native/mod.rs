//! Apple's own capture beside ours. Every decision is made here, on any machine; `metal` only makes the calls.
//!
//! What Metal records is what is handed to its queues between start and stop. So everything before is finished first,
//! then the manager starts, and it stops when everything inside is done.

#[cfg(all(target_vendor = "apple", feature = "gpu"))]
mod metal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pellucid_trace::schema::NativeCapture;

use super::CaptureError;

/// Where Apple's capture goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// A document, at an absolute path.
    Document(PathBuf),
    /// Xcode, which must be attached to the process.
    DeveloperTools,
}

/// Apple's capture manager, or what a test puts in its place.
pub(super) trait Manager: Send + Sync {
    fn supports(&self, to: &Destination) -> bool;
    fn start(&self, to: &Destination) -> Result<(), String>;
    fn stop(&self);
}

/// The manager of this machine; `None` if no GPU is reached through Metal.
pub(super) fn manager() -> Option<Arc<dyn Manager>> {
    #[cfg(all(target_vendor = "apple", feature = "gpu"))]
    return metal::manager();
    #[cfg(not(all(target_vendor = "apple", feature = "gpu")))]
    None
}

/// What one call of `start_capture` comes to.
pub(super) struct Plan {
    /// The path of our file; `None` if only Xcode gets the capture.
    pub ours: Option<PathBuf>,
    pub native: Option<Native>,
}

/// Decides what is captured where. Apple's document gets the path, and our file stands beside it; what Apple's manager
/// would refuse is not tried, and does not keep ours from being written.
///
/// # Errors
/// An empty path without Metal, a document that exists, a path that cannot be made absolute.
pub(super) fn plan(
    path: &Path,
    manager: Option<Arc<dyn Manager>>,
    gate_open: bool,
) -> Result<Plan, CaptureError> {
    let empty = path.as_os_str().is_empty();
    let Some(manager) = manager else {
        let ours = if empty { Err(CaptureError::EmptyPath) } else { Ok(path.to_owned()) };
        return Ok(Plan { ours: Some(ours?), native: None });
    };
    if empty {
        let native = Native::new(manager, Destination::DeveloperTools, gate_open);
        return match native.refused() {
            Some(reason) => Err(CaptureError::Native { reason: reason.to_owned() }),
            None => Ok(Plan { ours: None, native: Some(native) }),
        };
    }
    let absolute = std::path::absolute(path)
        .map_err(|e| CaptureError::Native { reason: format!("{}: {e}", path.display()) })?;
    if path.extension().is_none_or(|e| e != "gputrace") {
        let reason = "the name does not end in .gputrace, which Apple's documents must".to_owned();
        let native = Native { manager, to: Destination::Document(absolute), stage: Stage::Refused(reason) };
        return Ok(Plan { ours: Some(path.to_owned()), native: Some(native) });
    }
    if absolute.exists() {
        return Err(pellucid_trace::Error::Exists { path: absolute }.into());
    }
    let native = Native::new(manager, Destination::Document(absolute), gate_open);
    Ok(Plan { ours: Some(path.with_extension("pltrace")), native: Some(native) })
}

/// One capture by Apple's manager.
pub(super) struct Native {
    manager: Arc<dyn Manager>,
    to: Destination,
    stage: Stage,
}

enum Stage {
    Planned,
    Started,
    Stopped,
    Refused(String),
}

impl Native {
    fn new(manager: Arc<dyn Manager>, to: Destination, gate_open: bool) -> Native {
        let stage = match (manager.supports(&to), gate_open) {
            // An application can also be allowed by its property list.
            (true, _) => Stage::Planned,
            (false, false) => Stage::Refused(CaptureError::GateClosed.to_string()),
            (false, true) => Stage::Refused(match to {
                Destination::Document(_) => "this system cannot write GPU trace documents".to_owned(),
                Destination::DeveloperTools => "Xcode is not attached to this process".to_owned(),
            }),
        };
        Native { manager, to, stage }
    }

    /// Why nothing is captured, if that is so.
    pub fn refused(&self) -> Option<&str> {
        match &self.stage {
            Stage::Refused(reason) => Some(reason),
            _ => None,
        }
    }

    /// Starts the manager. Everything submitted before must be done.
    pub fn start(&mut self) {
        if matches!(self.stage, Stage::Planned) {
            self.stage = match self.manager.start(&self.to) {
                Ok(()) => Stage::Started,
                Err(reason) => Stage::Refused(reason),
            };
        }
    }

    /// Stops the manager. Everything submitted since the start must be done.
    pub fn stop(&mut self) {
        if matches!(self.stage, Stage::Started) {
            self.manager.stop();
            self.stage = Stage::Stopped;
        }
    }

    /// What came of it, for the manifest and the summary.
    pub fn outcome(&self) -> NativeCapture {
        let path = match &self.to {
            Destination::Document(path) => path.display().to_string(),
            Destination::DeveloperTools => String::new(),
        };
        let kind = match self.to {
            Destination::Document(_) => "gputrace",
            Destination::DeveloperTools => "developer tools",
        };
        let (ok, message) = match &self.stage {
            Stage::Started | Stage::Stopped => (true, "captured".to_owned()),
            Stage::Planned => (false, "was not begun".to_owned()),
            Stage::Refused(reason) => (false, reason.clone()),
        };
        NativeCapture { kind: kind.to_owned(), path, ok, message }
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use parking_lot::Mutex;

    use super::*;

    /// A manager that notes what it was asked.
    #[derive(Default)]
    pub struct Fake {
        pub supports: bool,
        pub fails: Option<&'static str>,
        pub said: Mutex<Vec<String>>,
        /// Called before each note.
        pub look: Option<Box<dyn Fn() -> String + Send + Sync>>,
    }

    impl Fake {
        fn note(&self, what: &str) {
            let seen = self.look.as_ref().map_or(String::new(), |look| format!(": {}", look()));
            self.said.lock().push(format!("{what}{seen}"));
        }
    }

    impl Manager for Fake {
        fn supports(&self, _: &Destination) -> bool {
            self.supports
        }

        fn start(&self, to: &Destination) -> Result<(), String> {
            self.note(match to {
                Destination::Document(path) if path.is_absolute() => "start document",
                Destination::Document(_) => "start relative document",
                Destination::DeveloperTools => "start tools",
            });
            self.fails.map_or(Ok(()), |reason| Err(reason.to_owned()))
        }

        fn stop(&self) {
            self.note("stop");
        }
    }

    fn fake(supports: bool) -> Option<Arc<dyn Manager>> {
        Some(Arc::new(Fake { supports, ..Fake::default() }))
    }

    #[test]
    fn without_metal_only_our_file_is_written_and_it_needs_a_path() {
        let made = plan(Path::new("x.gputrace"), None, false).unwrap();
        assert_eq!(made.ours.as_deref(), Some(Path::new("x.gputrace")));
        assert!(made.native.is_none());
        assert!(matches!(plan(Path::new(""), None, true), Err(CaptureError::EmptyPath)));
    }

    #[test]
    fn on_metal_our_file_stands_beside_the_document() {
        let made = plan(Path::new("run 1.gputrace"), fake(true), true).unwrap();
        assert_eq!(made.ours.as_deref(), Some(Path::new("run 1.pltrace")));
        let outcome = made.native.as_ref().map(Native::outcome).unwrap();
        assert!(outcome.path.ends_with("run 1.gputrace") && Path::new(&outcome.path).is_absolute());
        assert_eq!((outcome.kind.as_str(), outcome.ok), ("gputrace", false));
    }

    #[test]
    fn a_closed_gate_names_both_variables_and_keeps_our_file() {
        let made = plan(Path::new("a.gputrace"), fake(false), false).unwrap();
        let native = made.native.unwrap();
        let reason = native.refused().unwrap();
        assert!(reason.contains("MTL_CAPTURE_ENABLED=1") && reason.contains("METAL_CAPTURE_ENABLED=1"));
        assert!(reason.contains("before the program starts"), "{reason}");
        assert!(made.ours.is_some());
        let made = plan(Path::new("a.gputrace"), fake(false), true).unwrap();
        assert!(made.native.unwrap().refused().unwrap().contains("cannot write"));
        // Allowed by a property list instead.
        assert!(
            plan(Path::new("a.gputrace"), fake(true), false).unwrap().native.unwrap().refused().is_none()
        );
    }

    #[test]
    fn another_extension_is_ours_alone_and_says_why() {
        let made = plan(Path::new("a.pltrace"), fake(true), true).unwrap();
        assert_eq!(made.ours.as_deref(), Some(Path::new("a.pltrace")));
        assert!(made.native.unwrap().refused().unwrap().contains(".gputrace"));
    }

    #[test]
    fn an_empty_path_goes_to_the_developer_tools_or_is_refused() {
        let made = plan(Path::new(""), fake(true), true).unwrap();
        assert!(made.ours.is_none());
        assert_eq!(made.native.unwrap().outcome().kind, "developer tools");
        assert!(matches!(plan(Path::new(""), fake(false), true), Err(CaptureError::Native { .. })));
    }

    #[test]
    fn an_existing_document_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("old.gputrace");
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(plan(&path, fake(true), true), Err(CaptureError::File(_))));
    }

    #[test]
    fn a_manager_that_fails_is_reported_and_not_stopped() {
        let manager = Arc::new(Fake { supports: true, fails: Some("not supported"), ..Fake::default() });
        let mut native = plan(Path::new("a.gputrace"), Some(manager.clone()), true).unwrap().native.unwrap();
        native.start();
        native.stop();
        assert_eq!(*manager.said.lock(), ["start document"]);
        let outcome = native.outcome();
        assert_eq!((outcome.ok, outcome.message.as_str()), (false, "not supported"));
    }
}
