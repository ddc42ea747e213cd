# syntax=docker/dockerfile:1

# The version that the workspace asks for (rust-version in Cargo.toml), on the Debian that the service runs on: a binary
# that was linked against a newer C library would not start there.
FROM rust:1.95.0-slim-bookworm AS build
WORKDIR /build
COPY . .
# Crates and objects stay in caches between builds and out of the layers; so the binary is copied out of its cache.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/build/target \
    cargo build --profile dist --locked --bin onefold \
    && cp target/dist/onefold /usr/local/bin/onefold

# The suite and not one of its point releases, so that a rebuild picks up what Debian has mended since.
FROM debian:bookworm-slim
# For a database over TLS: whoever signed its certificate must be known here.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin onefold
COPY --from=build /usr/local/bin/onefold /usr/local/bin/onefold

# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
# Inside a container the loopback address reaches nobody; outside, what is published decides.
ENV ONEFOLD_LISTEN=0.0.0.0:8080
EXPOSE 8080

# There is no PostgreSQL in here: give DATABASE_URL.
ENTRYPOINT ["onefold"]
CMD ["serve"]

# bash speaks enough HTTP for one request; curl would be a package, with its own advisories, for this line alone. It asks
# whether the process is up, not /readyz: an orchestrator may restart what is unhealthy, and no restart brings back a
# database.
HEALTHCHECK --interval=5s --timeout=3s --start-period=30s --retries=3 \
    CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${ONEFOLD_LISTEN##*:} && printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
