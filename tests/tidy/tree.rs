//! The files of the repository, and what a rule has to say about them.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// One text file: where it is, from the repository's root and with `/`, and what it says.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl File {
    #[cfg(test)]
    pub(crate) fn sample(path: &str, text: &str) -> Self {
        Self { path: path.to_owned(), text: text.to_owned() }
    }

    /// The folder below `crates/` that this file is in.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether the whole file is test code: an integration test, a benchmark, or a `tests` module in a file.
    pub(crate) fn is_test(&self) -> bool {
        self.path.starts_with("tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.contains("/tests/")
            || self.path.contains("/benches/")
    }

    /// Whether this is the file, or in the folder of files, that holds a crate's SQL.
    pub(crate) fn is_store(&self) -> bool {
        self.path.ends_with("/src/store.rs") || self.path.contains("/src/store/")
    }

    pub(crate) fn fault(&self, line: usize, problem: impl Into<String>, remedy: &'static str) -> Fault {
        Fault { path: self.path.clone(), line, problem: problem.into(), remedy }
    }
}

/// A rule that is broken: where, how, and what to do about it.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) path: String,
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) problem: String,
    pub(crate) remedy: &'static str,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: {}", self.path, self.line, self.problem)?;
        writeln!(f, "    remedy: {}", self.remedy)
    }
}

/// Every text file of the repository, in the order of their paths.
#[derive(Debug)]
pub(crate) struct Tree {
    files: Vec<File>,
    /// The paths of all files and folders, those of binary files included.
    paths: Vec<String>,
}

impl Tree {
    /// Reads the tree from disk rather than from git's index, so that a new file is judged before it is committed, and a
    /// downloaded archive can be checked too. What the root's `.gitignore` names is left out.
    pub(crate) fn read() -> Self {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are a folder of the repository");
        let ignored =
            std::fs::read_to_string(root.join(".gitignore")).expect("the repository has a .gitignore");
        let mut ignored: Vec<PathBuf> =
            ignored.lines().filter_map(|line| line.strip_prefix('/')).map(|line| root.join(line)).collect();
        ignored.push(root.join(".git"));

        let mut tree = Self { files: Vec::new(), paths: Vec::new() };
        tree.read_folder(root, root, &ignored);
        tree
    }

    #[cfg(test)]
    pub(crate) fn sample(files: &[(&str, &str)]) -> Self {
        let mut tree = Self { files: Vec::new(), paths: Vec::new() };
        for (path, text) in files {
            tree.files.push(File::sample(path, text));
            for (at, _) in path.match_indices('/') {
                tree.paths.push(path[..at].to_owned());
            }
            tree.paths.push((*path).to_owned());
        }
        tree
    }

    fn read_folder(&mut self, root: &Path, folder: &Path, ignored: &[PathBuf]) {
        let entries = std::fs::read_dir(folder).expect("a folder of the repository can be read");
        let mut entries: Vec<PathBuf> =
            entries.map(|entry| entry.expect("an entry can be read").path()).collect();
        entries.sort();
        for entry in entries.into_iter().filter(|entry| !ignored.contains(entry)) {
            let path =
                entry.strip_prefix(root).expect("an entry is below the root").to_string_lossy().into_owned();
            self.paths.push(path.clone());
            if entry.is_dir() {
                self.read_folder(root, &entry, ignored);
            } else if let Ok(text) = std::fs::read_to_string(&entry) {
                self.files.push(File { path, text });
            }
        }
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    pub(crate) fn under<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a File> {
        self.files().filter(move |file| file.path.starts_with(folder))
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".rs"))
    }

    /// The manifests of the crates; not the workspace's, nor that of the tests, which may use everything.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = &File> {
        self.under("crates/").filter(|file| file.path.ends_with("/Cargo.toml"))
    }

    /// What the repository says to its readers.
    pub(crate) fn documents(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".md"))
    }

    /// The documents that describe the tree itself, and so name its paths.
    pub(crate) fn overviews(&self) -> impl Iterator<Item = &File> {
        self.files()
            .filter(|file| matches!(file.path.as_str(), "README.md" | "ARCHITECTURE.md" | "CONTRIBUTING.md"))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files().find(|file| file.path == path)
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        let path = path.trim_end_matches('/');
        path.is_empty() || self.paths.iter().any(|one| one == path)
    }
}

#[test]
fn a_fault_names_its_place_and_its_remedy() {
    let fault = File::sample("crates/money/src/lib.rs", "").fault(3, "a float", "use Decimal");
    assert_eq!(fault.to_string(), "crates/money/src/lib.rs:3: a float\n    remedy: use Decimal\n");
}

#[test]
fn the_tree_holds_this_file_and_nothing_that_was_built() {
    let tree = Tree::read();
    assert!(tree.file("tests/tidy/tree.rs").is_some());
    assert!(tree.has("tests/tidy"));
    assert!(!tree.has("tests/tidy/no-such-file.rs"));
    assert_eq!(tree.under("target/").count() + tree.under(".git/").count(), 0);
}
