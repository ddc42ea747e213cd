//! A private, durable, real PostgreSQL for local runs and tests.
//!
//! [`Cluster::attach_or_start`] finds the PostgreSQL programs that the system already has, makes a cluster of its own
//! in a data directory, starts it on a unix socket that only this user can reach, and hands back where it is. Every
//! process that names the same directory shares that one PostgreSQL: the first starts it, the others attach, and
//! the last to [`stop`](Cluster::stop) stops it.
//!
//! ```no_run
//! # async fn run() -> Result<(), embedded_postgres::Error> {
//! use embedded_postgres::{Cluster, Settings, choose_data_dir};
//!
//! let (data_dir, why) = choose_data_dir(".onefold".as_ref())?;
//! println!("the database lives in {} ({why})", data_dir.display());
//! let cluster = Cluster::attach_or_start(Settings::new(data_dir)).await?;
//! println!("psql '{}'", cluster.database_url("postgres"));
//! cluster.stop().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//!
//! - *Durable.* `fsync`, `synchronous_commit`, `full_page_writes` and page checksums are on, so a commit that was
//!   answered survives a power cut. `Settings::durable = false` (tests) gives up the power cut only: a commit still
//!   survives `SIGKILL` of any process.
//! - *Private.* No TCP port; a socket in a directory of mode 0700; the kernel tells PostgreSQL who is calling, and
//!   only this user and root are let in, as the superuser [`USER`].
//! - *Recovers by itself.* A PostgreSQL left running by a killed process is adopted; one that was killed itself is
//!   started again, its leftovers (`postmaster.pid`, a zombie, backends still finishing) included: by the next process that
//!   asks for it, and by one that has it and looks after it with [`Cluster::restart_if_gone`].
//! - *Survives Ctrl-C of the parent's terminal*, so that the parent can drain before it stops the database.
//!
//! # What lies in the data directory
//!
//! | name | what |
//! | --- | --- |
//! | `data/` | the cluster as `initdb` made it; belongs to the user that runs PostgreSQL |
//! | `socket/` | the unix socket, unless its path would be too long for one: then a short directory below the temporary directory |
//! | `postgresql.conf`, `pg_hba.conf`, `pg_ident.conf` | written anew at each start |
//! | `postgres.log` | what PostgreSQL says; moved to `postgres.log.old` at a start when it has passed 16 MB |
//! | `start.lock` | held exclusively by the one process that is starting, attaching or stopping |
//! | `in-use.lock` | held shared by each process that uses the cluster, for as long as it does |
//!
//! Both locks are the kernel's (`flock`), so that a killed process cannot leave one behind.
//!
//! # As root
//!
//! PostgreSQL refuses to run as root. Its processes are then started as the user `postgres`, else `nobody`, and
//! `data/` and `socket/` belong to that user; the directory around them stays root's, and root writes nothing below the
//! two, so no link planted there can lead it astray. Where that user cannot reach the directory (below root's home,
//! say) the answer is [`Error::Unreachable`]; [`choose_data_dir`] looks before and names another place.
//!
//! # Reading order
//!
//! `cluster` is the story; `home` the directory, `programs` what is installed, `postmaster` and `probe` what runs,
//! `configuration` the settings, `socket` and `lock` the places where processes meet, `os_user` and `command` the
//! operating system. The crate knows nothing of Onefold's tables or of any SQL. Unix only.

mod cluster;
mod command;
mod configuration;
mod error;
mod home;
mod lock;
mod os_user;
mod postmaster;
mod probe;
mod programs;
mod socket;

pub use cluster::{Cluster, Stopped};
pub use configuration::{Settings, USER};
pub use error::Error;
pub use home::{SYSTEM_DATA_DIR, Why, choose_data_dir, has_cluster};
pub use programs::{PROGRAMS_VARIABLE, Programs, SUPPORTED_MAJORS, find_programs};
