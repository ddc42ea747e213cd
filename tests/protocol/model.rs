//! The model: every action that is possible in a state, and the state that it leads to.

use desk::Step;
use stateright::{Model, Property};

use crate::database::{Decision, Transaction};
use crate::properties;
use crate::scenario::Scenario;
use crate::state::{Phase, Process, Request, State, Told};
use crate::turn::Turn;

/// Something that happens. A worker is named by its process and its place there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// The next request is made to a process.
    Ask {
        /// Which process.
        process: usize,
    },
    /// A worker reaches a step of its batch.
    Reach(Step, At),
    /// The claim takes its snapshot: between `Begun` and `Claimed`.
    TakeSnapshot(At),
    /// A piece of a batch is written: between `Decided` and `Saved`.
    SavePiece(At),
    /// `COMMIT` is sent: behind `Saved`.
    SendCommit(At),
    /// The backend commits: before `Committed`.
    BackendCommits(At),
    /// The callers are answered: behind `Committed`.
    Answer(At),
    /// A worker has waited long enough.
    GiveUp(At),
    /// A worker's connection is cut.
    Cut(At),
    /// A process is killed.
    Kill {
        /// Which process.
        process: usize,
    },
    /// A process is started again.
    Restart {
        /// Which process.
        process: usize,
    },
    /// PostgreSQL stops at once, and comes back.
    DatabaseStops,
    /// A backend whose client is gone reads the `COMMIT` that was sent to it, and commits.
    OrphanCommits {
        /// Which transaction.
        orphan: usize,
    },
    /// A backend whose client is gone notices, and rolls back.
    OrphanEnds {
        /// Which transaction.
        orphan: usize,
    },
}

/// A worker's place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct At {
    /// Its process.
    pub process: usize,
    /// Its place among the workers of the process; the lane comes first.
    pub worker: usize,
}

impl Model for Scenario {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![State::initial(self)]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if let Some(action) = self.action_that_nobody_sees(state) {
            actions.push(action);
            return;
        }
        for (index, process) in state.processes.iter().enumerate() {
            if !process.up {
                actions.push(Action::Restart { process: index });
                continue;
            }
            if state.requests.len() < self.requests.len() {
                actions.push(Action::Ask { process: index });
            }
            if state.faults_left > 0 {
                actions.push(Action::Kill { process: index });
            }
            for (worker, doing) in process.workers.iter().enumerate() {
                let at = At { process: index, worker };
                let has_work = !doing.jobs.is_empty();
                match &doing.phase {
                    Phase::Idle if has_work => {
                        actions.extend([Action::Reach(Step::Begun, at), Action::GiveUp(at)])
                    }
                    Phase::Idle if process.queue.is_empty() => {}
                    Phase::Idle => actions.push(Action::Reach(Step::Begun, at)),
                    Phase::Begun => actions.push(Action::TakeSnapshot(at)),
                    Phase::ClaimSnapshot(_) => actions.push(Action::Reach(Step::Claimed, at)),
                    Phase::Claimed(_) => actions.push(Action::Reach(Step::Loaded, at)),
                    Phase::Decided(decided) if decided.to_save.len() > 1 => {
                        actions.push(Action::SavePiece(at))
                    }
                    Phase::Decided(_) => actions.push(Action::Reach(Step::Saved, at)),
                    Phase::Saved(_) => actions.push(Action::SendCommit(at)),
                    Phase::CommitSent(_) if doing.transaction.is_some() => {
                        actions.push(Action::BackendCommits(at))
                    }
                    Phase::CommitSent(_) => actions.push(Action::Reach(Step::Committed, at)),
                    Phase::Loaded(_) | Phase::Committed(_) => {
                        unreachable!("nobody sees what comes next, and so it has come")
                    }
                }
                if state.faults_left > 0 && doing.phase != Phase::Idle {
                    actions.push(Action::Cut(at));
                }
            }
        }
        if state.faults_left > 0 {
            actions.push(Action::DatabaseStops);
        }
        for (orphan, transaction) in state.database.orphans.iter().enumerate() {
            actions.push(Action::OrphanEnds { orphan });
            if transaction.commit_sent {
                actions.push(Action::OrphanCommits { orphan });
            }
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut state = last.clone();
        match action {
            Action::Ask { process } => state.ask(self, process),
            Action::Reach(step, at) => self.turn(&mut state, at, |turn| turn.step(step))?,
            Action::TakeSnapshot(at) => self.turn(&mut state, at, |turn| turn.take_snapshot())?,
            Action::SavePiece(at) => self.turn(&mut state, at, |turn| turn.save_piece())?,
            Action::SendCommit(at) => self.turn(&mut state, at, |turn| turn.send_commit())?,
            Action::BackendCommits(at) => self.turn(&mut state, at, |turn| turn.backend_commits())?,
            Action::Answer(at) => self.turn(&mut state, at, |turn| turn.answer())?,
            Action::GiveUp(at) => self.turn(&mut state, at, |turn| turn.give_up())?,
            Action::Cut(at) => {
                state.faults_left -= 1;
                self.turn(&mut state, at, |turn| turn.lose_connection(false))?;
            }
            Action::Kill { process } => state.kill(process),
            Action::Restart { process } => state.processes[process] = Process::started(),
            Action::DatabaseStops => self.stop_database(&mut state),
            Action::OrphanCommits { orphan } => {
                let transaction = state.database.orphans.remove(orphan);
                state.commit(self, transaction);
            }
            Action::OrphanEnds { orphan } => drop(state.database.orphans.remove(orphan)),
        }
        // Two processes that change places are the same state.
        state.processes.sort();
        // So no path is endless, and who is answered in every state without a way on is answered on every path.
        assert!(state.work_left(self) < last.work_left(self), "{action:?} brings {last:?} no further");
        Some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        properties::all()
    }
}

impl Scenario {
    /// A step whose order among the others makes no difference, because it neither reads nor changes what others see,
    /// and because whatever may go wrong behind it comes to the same as before it. It is taken at once, which leaves out
    /// many orders and no behaviour.
    fn action_that_nobody_sees(&self, state: &State) -> Option<Action> {
        state.processes.iter().enumerate().find_map(|(process, doing)| {
            doing.workers.iter().enumerate().find_map(|(worker, doing)| {
                let at = At { process, worker };
                match doing.phase {
                    Phase::Loaded(_) => Some(Action::Reach(Step::Decided, at)),
                    Phase::Committed(_) => Some(Action::Answer(at)),
                    _ => None,
                }
            })
        })
    }

    fn turn(&self, state: &mut State, at: At, act: impl FnOnce(&mut Turn<'_>) -> Option<()>) -> Option<()> {
        let worker = state.processes[at.process].workers.remove(at.worker);
        let mut turn = Turn::of(self, state, at.process, worker);
        act(&mut turn)?;
        turn.end();
        Some(())
    }

    /// Every transaction that is not committed is gone, and every worker that had one open finds out.
    fn stop_database(&self, state: &mut State) {
        state.faults_left -= 1;
        state.database.orphans.clear();
        for process in 0..state.processes.len() {
            let workers = std::mem::take(&mut state.processes[process].workers);
            for worker in workers {
                let mut turn = Turn::of(self, state, process, worker);
                turn.lose_connection(true);
                turn.end();
            }
        }
    }
}

impl State {
    fn ask(&mut self, scenario: &Scenario, process: usize) {
        let id = self.requests.len();
        let name = scenario.requests[id];
        let runs_here = self.processes[process].in_flight().any(|other| self.name_of(other) == name);
        self.requests.push(Request { name, told: runs_here.then_some(Told::InProgress) });
        if !runs_here {
            self.processes[process].queue.push(u8::try_from(id).expect("few requests"));
        }
    }

    fn kill(&mut self, process: usize) {
        self.faults_left -= 1;
        let dead = std::mem::take(&mut self.processes[process]);
        for request in dead.in_flight().collect::<Vec<_>>() {
            self.tell(request, Told::Nothing);
        }
        for transaction in dead.workers.into_iter().filter_map(|worker| worker.transaction) {
            self.database.orphan(transaction);
        }
    }

    /// Commits, and notes whether what it refuses is borne out by what is then committed. Versions and locks are
    /// there to see to that.
    pub fn commit(&mut self, scenario: &Scenario, transaction: Transaction) {
        let refusals = transaction.records.clone();
        self.database.commit(transaction);
        for (name, record) in refusals {
            let asked = scenario.names[usize::from(name)];
            let number_taken = asked.number.is_some_and(|number| self.database.number_taken(number));
            self.unjustified_refusal |= match record.decision {
                Decision::Placed => false,
                // A number that is taken would be the reason, whatever there is to pay with.
                Decision::NotEnough => self.database.available >= asked.amount || number_taken,
                Decision::NumberTaken => !number_taken,
            };
        }
    }

    /// A number that every action makes smaller.
    pub fn work_left(&self, scenario: &Scenario) -> usize {
        let to_ask = scenario.requests.len().saturating_sub(self.requests.len());
        let processes: usize = self.processes.iter().map(|process| process.work_left(scenario)).sum();
        to_ask * 100_000 + usize::from(self.faults_left) * 10_000 + processes + self.database.orphans.len()
    }
}

impl Process {
    fn work_left(&self, scenario: &Scenario) -> usize {
        let workers: usize = self.workers.iter().map(|worker| worker.work_left(scenario)).sum();
        usize::from(!self.up) + self.queue.len() * 1_000 + workers
    }
}
