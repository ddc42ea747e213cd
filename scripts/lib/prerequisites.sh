# shellcheck shell=sh
#
# What this repository needs from the machine, and how to get it. Sourced by `scripts/run`, `scripts/test` and
# `.ci/run`; plain POSIX sh, because a bare Alpine or Debian has no bash to offer to whoever runs the first command.
#
#   require_rust         a cargo that is new enough for the workspace
#   require_c_compiler   cc, for the linker and for the one dependency with C in it (ring)
#   require_curl         curl, with which the README's first five minutes are walked
#   require_prometheus   prometheus and promtool, of which alerts and dashboard are asked
#   require_nats         nats-server, one of the brokers that the tests run events through
#   require_rabbitmq     rabbitmq-server, the other
#   require_redis        redis-server, which the tests of the filter for repeats start
#   require_python       python3 with its modules venv and ensurepip, in which Schemathesis runs
#   require_postgresql   initdb, pg_ctl and postgres, of a version that Onefold starts
#
# Each returns at once when it finds what it looks for. Otherwise it installs that with the system's package manager,
# says so first, and where it may not it says what to do and ends the script with status 1. Nothing is ever printed to
# standard output: that belongs to the program that is run.

say() { printf '%s\n' "$*" >&2; }

fail() {
    say "error: $*"
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# ---------------------------------------------------------------------------------------------------------- Rust

require_rust() {
    # rustup's own directory is on PATH only in shells that were started after rustup was installed.
    if ! have cargo && [ -x "${CARGO_HOME:-${HOME:-}/.cargo}/bin/cargo" ]; then
        PATH="${CARGO_HOME:-${HOME:-}/.cargo}/bin:$PATH"
        export PATH
    fi
    have cargo || fail "Rust is not installed. Install it, then run this again:
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh
(on macOS also: brew install rustup)"

    # A cargo from before the edition that is used here fails on its own, but with an error about the manifest.
    needed=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version | sed 's/^rustc \([0-9.]*\).*/\1/')
    version_at_least "$found" "$needed" ||
        fail "Rust $needed or newer is needed, and this is $found. Update it, then run this again:
    rustup update stable
(a Rust from the system's packages is often older: see https://rustup.rs)"
}

# version_at_least FOUND NEEDED: compares MAJOR.MINOR as numbers, since 1.100 is newer than 1.95.
version_at_least() {
    found_major=${1%%.*}
    found_minor=${1#*.}
    found_minor=${found_minor%%.*}
    needed_major=${2%%.*}
    needed_minor=${2#*.}
    needed_minor=${needed_minor%%.*}
    [ "$found_major" -gt "$needed_major" ] ||
        { [ "$found_major" -eq "$needed_major" ] && [ "$found_minor" -ge "$needed_minor" ]; }
}

# ---------------------------------------------------------------------------------------------------- C compiler

require_c_compiler() {
    have cc && return
    case $(package_manager) in
    # The compiler alone is no use: it links against the C library's start files, which are packaged apart.
    apt) install_packages "a C compiler" gcc libc6-dev ;;
    dnf) install_packages "a C compiler" gcc ;;
    apk) install_packages "a C compiler" gcc musl-dev ;;
    brew) fail "a C compiler is missing. Install it, then run this again:
    xcode-select --install" ;;
    *) fail "a C compiler is missing, and there is no package manager here that this script knows.
Install one (the command must be called cc), then run this again." ;;
    esac
    have cc || fail "the C compiler was installed, but there is still no command cc."
}

# ---------------------------------------------------------------------------------------------------------- curl

require_curl() {
    have curl && return
    case $(package_manager) in
    apt | dnf | apk | brew) install_packages curl curl ;;
    *) fail "curl is not installed, and there is no package manager here that this script knows.
Install it, then run this again." ;;
    esac
    have curl || fail "curl was installed, but there is still no command curl."
}

# ------------------------------------------------------------------------------------------------------ Prometheus

require_prometheus() {
    have prometheus && have promtool && return
    case $(package_manager) in
    # Debian's package starts a server; the tests start their own, and a machine's owner asked for neither.
    apt)
        install_packages Prometheus prometheus
        if have systemctl; then as_root systemctl disable --now prometheus >&2 2>&1 || :; fi
        ;;
    apk | brew) install_packages Prometheus prometheus ;;
    *) fail "Prometheus is not installed, and there is no package manager here that this script knows to have it.
Install it and its promtool, then run this again." ;;
    esac
    for command in prometheus promtool; do
        have "$command" || fail "Prometheus was installed, but there is still no command $command."
    done
}

# ------------------------------------------------------------------------------------------------------- brokers

require_nats() {
    have_server nats-server && return
    case $(package_manager) in
    apt)
        install_packages NATS nats-server
        stop_installed nats-server
        ;;
    apk | brew) install_packages NATS nats-server ;;
    *) fail "nats-server is not installed, and there is no package manager here that this script knows to have it.
Install NATS, 2.9 or newer, then run this again." ;;
    esac
    have_server nats-server || fail "NATS was installed, but there is still no nats-server."
}

require_rabbitmq() {
    have_server rabbitmq-server && return
    case $(package_manager) in
    apt)
        install_packages RabbitMQ rabbitmq-server
        stop_installed rabbitmq-server
        ;;
    apk) install_packages RabbitMQ rabbitmq-server ;;
    brew) install_packages RabbitMQ rabbitmq ;;
    *) fail "rabbitmq-server is not installed, and there is no package manager here that this script knows to have it.
Install RabbitMQ, 3.10 or newer, then run this again." ;;
    esac
    have_server rabbitmq-server || fail "RabbitMQ was installed, but there is still no rabbitmq-server."
}

# Servers lie where only root's PATH goes.
have_server() { server_program "$1" >/dev/null; }

# Prints where a server's program is.
server_program() { command -v "$1" || ls "/usr/sbin/$1" 2>/dev/null || ls "/usr/local/sbin/$1" 2>/dev/null; }

# Debian's packages start their servers; the tests start their own, and a machine's owner asked for neither.
stop_installed() {
    if have systemctl; then as_root systemctl disable --now "$1" >&2 2>&1 || :; fi
}

# --------------------------------------------------------------------------------------------------------- Redis

require_redis() {
    have redis-server && return
    case $(package_manager) in
    apt)
        install_packages Redis redis-server
        stop_installed redis-server
        ;;
    dnf | apk | brew) install_packages Redis redis ;;
    *) fail "redis-server is not installed, and there is no package manager here that this script knows to have it.
Install Redis, then run this again." ;;
    esac
    have redis-server || fail "Redis was installed, but there is still no command redis-server."
}

# -------------------------------------------------------------------------------------------------------- Python

require_python() {
    python_makes_environments && return
    case $(package_manager) in
    # Debian packages the module that makes virtual environments apart.
    apt) install_packages Python python3 python3-venv ;;
    dnf | apk) install_packages Python python3 ;;
    brew) install_packages Python python ;;
    *) fail "python3, 3.11 or newer, with the modules venv and ensurepip is missing, and there is no package manager here
that this script knows. Install it, then run this again." ;;
    esac
    python_makes_environments || fail "Python was installed, but python3 is $(python3 --version 2>&1), or has no venv and
ensurepip. 3.11 or newer is needed: install it so that python3 on PATH is that one, then run this again."
}

python_makes_environments() {
    python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# ---------------------------------------------------------------------------------------------------- PostgreSQL

require_postgresql() {
    postgresql_bin >/dev/null && return
    [ -z "${ONEFOLD_PG_BIN:-}" ] ||
        fail "ONEFOLD_PG_BIN is $ONEFOLD_PG_BIN, where initdb, pg_ctl and postgres of version 14 to 18 are not."
    case $(package_manager) in
    apt) install_postgresql_by_apt ;;
    dnf) install_packages PostgreSQL postgresql-server ;;
    apk) install_packages PostgreSQL postgresql ;;
    # Homebrew's bare name is an alias that moves from version to version; this one stays.
    brew) install_packages PostgreSQL postgresql@17 ;;
    *) fail "PostgreSQL is not installed, and there is no package manager here that this script knows.
Install the server (initdb, pg_ctl and postgres), then run this again; or give a database that runs elsewhere:
    DATABASE_URL=postgres://USER:PASSWORD@HOST/DATABASE cargo run --release" ;;
    esac
    postgresql_bin >/dev/null ||
        fail "PostgreSQL is installed, but none of these directories has initdb, pg_ctl and postgres of version 14 to 18:
$(postgresql_places)"
}

# Prints the directory that holds PostgreSQL's server programs, all three and of a version that Onefold starts; prints
# nothing and returns 1 where there is none. The service decides in the same way (crates/embedded-postgres/src/programs.rs).
postgresql_bin() {
    # Not a pipe: leaving one early is an error to a shell with pipefail set.
    while IFS= read -r directory; do
        if [ -x "$directory/initdb" ] && [ -x "$directory/pg_ctl" ] && [ -x "$directory/postgres" ]; then
            major=$("$directory/postgres" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')
            if [ "$major" -ge 14 ] && [ "$major" -le 18 ]; then
                printf '%s\n' "$directory"
                return 0
            fi
        fi
    done <<PLACES
$(postgresql_places)
PLACES
    return 1
}

# One directory a line, in the order in which they are tried: the one that the user names, which is then the only one;
# what pg_config says; where the systems' packages hide the server's programs (Debian and Ubuntu, the PostgreSQL
# project's own, Alpine, Homebrew, Postgres.app), the newest version of each first; and PATH, which is Fedora's place.
postgresql_places() {
    if [ -n "${ONEFOLD_PG_BIN:-}" ]; then
        printf '%s\n' "$ONEFOLD_PG_BIN"
        return
    fi
    if have pg_config; then pg_config --bindir 2>/dev/null || :; fi
    newest_first /usr/lib/postgresql/*/bin
    newest_first /usr/pgsql-*/bin
    newest_first /usr/libexec/postgresql*
    newest_first /opt/homebrew/opt/postgresql@*/bin
    newest_first /usr/local/opt/postgresql@*/bin
    newest_first /Applications/Postgres.app/Contents/Versions/*/bin
    if have initdb; then dirname "$(command -v initdb)"; fi
}

# Those of the directories that exist, by the first number in each; what no directory matched is still a pattern.
newest_first() {
    for directory in "$@"; do
        [ ! -d "$directory" ] || printf '%s %s\n' "$(printf '%s' "$directory" | tr -cs '0-9' ' ')" "$directory"
    done | sort -rn | sed 's/^[0-9 ]*//'
}

# Debian's package makes a cluster called "main" and starts it on port 5432 of a machine whose owner asked for no such
# thing: Onefold runs a private one. A setting in this directory prevents it. It is taken away again, so that whoever
# installs PostgreSQL later, for its own sake, gets what Debian promises.
install_postgresql_by_apt() {
    setting=/etc/postgresql-common/createcluster.d/onefold-installs-programs-only.conf
    as_root mkdir -p "${setting%/*}" || cannot_install PostgreSQL "apt-get install postgresql"
    echo "create_main_cluster = false" | as_root tee "$setting" >/dev/null
    # In a subshell, since a failure ends the shell that it happens in, and the setting has to go all the same.
    status=0
    (install_packages PostgreSQL postgresql) || status=$?
    as_root rm -f "$setting"
    [ "$status" -eq 0 ] || exit "$status"
}

# ---------------------------------------------------------------------------------------------- package managers

package_manager() {
    if [ "$(uname -s)" = Darwin ]; then
        if have brew; then echo brew; else echo none; fi
    elif have apt-get; then echo apt
    elif have dnf; then echo dnf
    elif have apk; then echo apk
    else echo none; fi
}

# install_packages WHAT PACKAGE...
install_packages() {
    what=$1
    shift
    case $(package_manager) in
    apt)
        command="apt-get install $*"
        set -- apt-get install -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
        ;;
    dnf)
        command="dnf install $*"
        set -- dnf install -y "$@"
        ;;
    apk)
        command="apk add $*"
        set -- apk add --no-cache "$@"
        ;;
    # Homebrew refuses to run as root, and needs no more than the user who owns it.
    brew)
        say "$what is missing; installing it: brew install $*"
        brew install "$@" >&2 || fail "could not install $what; what brew said is above."
        return
        ;;
    esac
    may_become_root || cannot_install "$what" "$command"
    say "$what is missing; installing it: $command"
    # The lists are fetched only now: a machine that has everything must not depend on a mirror. One list that cannot be
    # fetched need not matter, so it is the installation that decides.
    if [ "$1" = apt-get ]; then as_root apt-get update -q >&2 || say "warning: apt-get update failed; going on."; fi
    as_root env DEBIAN_FRONTEND=noninteractive "$@" </dev/null >&2 ||
        fail "could not install $what; what the package manager said is above."
}

cannot_install() {
    fail "$1 is missing, and this user may not install it. Let root run this, then run the script again:
    $2"
}

# Whether sudo can be used: without a password, or with one where somebody is there to type it.
may_become_root() {
    [ "$(id -u)" -eq 0 ] || { have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; elif may_become_root; then sudo "$@"; else return 1; fi
}
