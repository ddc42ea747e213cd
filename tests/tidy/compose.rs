//! `docker-compose.yml`: what is started is named by its version, what is mounted is there, and no secret stands in it.

use crate::tree::{Fault, File, Tree};

/// Every image has a tag that is a version, so that what runs tomorrow is what ran today. What is built here has none.
pub(crate) fn images_are_pinned(file: &File) -> Vec<Fault> {
    let images = values(file, "image: ").filter(|(_, image)| !image.ends_with(":local"));
    images
        .filter(|(_, image)| {
            let tag =
                image.rsplit('/').next().and_then(|name| name.split_once(':')).map_or("", |(_, tag)| tag);
            let numbers =
                tag.trim_start_matches('v').split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
            numbers.count() < 2
        })
        .map(|(line, image)| {
            file.fault(
                line,
                format!("the image {image} is not pinned"),
                "name its version: NAME:MAJOR.MINOR.PATCH",
            )
        })
        .collect()
}

/// Each file and folder of this tree that a container is given is there.
pub(crate) fn mounts_exist(file: &File, tree: &Tree) -> Vec<Fault> {
    let mounts =
        values(file, "- ./").map(|(line, mount)| (line, mount.split(':').next().unwrap_or_default()));
    let secrets = values(file, "file: ${ONEFOLD_SECRETS:-./");
    let mounts = mounts.map(|(line, path)| (line, path.to_owned()));
    let secrets = secrets.map(|(line, path)| (line, path.replacen('}', "", 1)));
    mounts
        .chain(secrets)
        .filter(|(_, path)| !tree.has(path))
        .map(|(line, path)| {
            file.fault(line, format!("{path} is not there"), "write it, or mount what is there")
        })
        .collect()
}

/// A variable whose name says that it is a secret holds the path of a file.
pub(crate) fn secrets_are_files(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (number, line) in lines(file) {
        let Some((name, _)) = line.split_once(": ") else { continue };
        let is_secret = ["PASSWORD", "SECRET", "TOKEN"].iter().any(|word| name.contains(word));
        let has_password = line.contains("://") && line.contains('@') && password_of(line).is_some();
        if (is_secret && !name.ends_with("_FILE")) || has_password {
            faults.push(file.fault(
                number,
                format!("{name} holds a secret"),
                "give the container a file of `secrets:`, and name it by the variable that ends in _FILE",
            ));
        }
    }
    faults
}

/// The password of a URL in a line.
fn password_of(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("://")?;
    let (user, _) = rest.split_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

/// What follows this on a line, comments left out.
fn values<'f>(file: &'f File, key: &'f str) -> impl Iterator<Item = (usize, &'f str)> {
    lines(file).filter_map(move |(number, line)| Some((number, line.strip_prefix(key)?)))
}

fn lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let lines = file.text.lines().map(str::trim).enumerate();
    lines.filter(|(_, line)| !line.starts_with('#')).map(|(index, line)| (index + 1, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compose(text: &str) -> File {
        File::sample("docker-compose.yml", text)
    }

    #[test]
    fn an_image_without_a_version_is_caught() {
        for image in ["postgres", "postgres:latest", "postgres:17", "a.registry:5000/postgres", "x/y:stable"]
        {
            assert_eq!(images_are_pinned(&compose(&format!("    image: {image}"))).len(), 1, "{image}");
        }
    }

    #[test]
    fn an_image_with_its_version_or_made_here_passes() {
        for image in ["postgres:17.6-bookworm", "prom/prometheus:v3.5.0", "onefold:local", "r:5000/n:2.11.6"]
        {
            assert!(images_are_pinned(&compose(&format!("    image: {image}"))).is_empty(), "{image}");
        }
    }

    #[test]
    fn a_secret_in_a_variable_or_a_url_is_caught_and_a_file_passes() {
        for line in ["POSTGRES_PASSWORD: x", "API_TOKEN: ${T}", "DATABASE_URL: postgres://u:p@h/d"] {
            assert_eq!(secrets_are_files(&compose(line)).len(), 1, "{line}");
        }
        let text = "POSTGRES_PASSWORD_FILE: /run/secrets/p\nDATABASE_URL: postgres://u@h/d\n# PASSWORD: x";
        assert!(secrets_are_files(&compose(text)).is_empty());
    }

    #[test]
    fn what_is_mounted_and_not_there_is_caught() {
        let text = "- ./no-such-folder:/x:ro\nfile: ${ONEFOLD_SECRETS:-./deploy/secrets}/no-such-secret
- ./deploy/grafana/dashboards:/y:ro\nfile: ${ONEFOLD_SECRETS:-./deploy/secrets}/database_password";
        let faults = mounts_exist(&compose(text), &Tree::read());
        assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [1, 2]);
    }
}
