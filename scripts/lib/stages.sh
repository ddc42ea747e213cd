# shellcheck shell=sh
#
# Says which stage of a script is running and how long each one took. Sourced by `scripts/test` and `.ci/run`.
#
#   stage NAME     ends the stage before it, if there is one, and begins this one
#   stages_done    ends the last one and prints the time of them all

stage_name=
stage_began_at=0
stages_began_at=$(date +%s)

stage() {
    end_stage
    stage_name=$1
    stage_began_at=$(date +%s)
    printf '\n==> %s\n' "$stage_name"
}

stages_done() {
    end_stage
    stage_name=
    printf '==> all stages: %s s\n' "$(($(date +%s) - stages_began_at))"
}

end_stage() {
    if [ -n "$stage_name" ]; then
        printf '==> %s: %s s\n' "$stage_name" "$(($(date +%s) - stage_began_at))"
    fi
}
