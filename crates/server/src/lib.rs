//! The binary onefold: routes, OpenAPI, configuration, telemetry, command line.
