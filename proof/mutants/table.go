package main

// A mutant is a defect. Most are of a kind that this library or another one has had. Its judge is the simulation, or one
// unit test where the simulation cannot show the harm.
type mutant struct {
	name   string
	edits  []edit
	checks []string // the simulation convicts it by one of these; nil where a unit test is the judge
	test   unitTest // fails with the mutant in place; empty where the simulation is the judge
}

// A unitTest is a test of the library. Its folder counts from the root of the library.
type unitTest struct{ folder, name string }

// An edit is a text of a file, and what stands there instead.
type edit struct {
	file     string // from the root of the library
	old, new string
}

// model stands for a conviction by a model alone.
const model = "model"

var mutants = []mutant{
	{"a release frees whoever holds", []edit{{"internal/scripts/rlock/release.lua",
		"if redis.call('hdel', KEYS[1], ARGV[1]) == 0 then", "if redis.call('del', KEYS[1]) == 0 then"}}, []string{"exclusion", "late loss"}, unitTest{}},
	{"a lock is taken half a second before its lease is over", []edit{{"internal/scripts/rlock/acquire.lua",
		"if remaining == -2 then", "if remaining < 500 then"}}, []string{"exclusion", "late loss", "stall"}, unitTest{}},
	{"trust outlasts the lease", []edit{{"internal/watchdog/instant.go",
		"lease - Margin(lease)", "lease + 2*time.Second"}}, []string{"exclusion", "late loss"}, unitTest{}},
	{"an operation that is sent again counts again", []edit{{"internal/scripts/lane/once.lua",
		"if sequence == settled then", "if sequence == -1 then"}}, []string{"conservation", "early latch", "permits", model}, unitTest{}},
	{"a reader gets in beside a writer", []edit{{"internal/scripts/rwlock/acquire_read.lua",
		"elseif mode == 'write' then", "elseif mode == 'never' then"}}, []string{"exclusion", "late loss"}, unitTest{}},
	{"a process that is told that a read-write lock is free takes it that it holds", []edit{{"internal/scripts/rwlock/stand.lua",
		"local answer = acquire()\n", "local told = row and redis.pcall('zscore', row, ARGV[#ARGV - 4])\nlocal answer = acquire()\n" +
			"if type(told) == 'string' and tonumber(told) < 0 then answer = -3 end\n"}}, []string{"exclusion", "late loss"}, unitTest{}},
	{"a fair lock goes to whoever asks first", []edit{{"internal/scripts/fairlock/acquire.lua",
		"if free and (not head or head == owner) then", "if free then"}}, []string{"order", "stall", "left behind"}, unitTest{}},
	{"permits that have expired are gone", []edit{{"internal/scripts/permitsemaphore/permits.lua",
		"  add(expired)\n", ""}}, []string{"conservation", "stall"}, unitTest{}},
	{"a semaphore has a permit too many", []edit{{"internal/scripts/semaphore/acquire.lua",
		"local served = available >= wanted", "local served = available + 1 >= wanted"}, {"internal/scripts/semaphore/acquire_alone.lua",
		"tonumber(value or '0') >= tonumber(ARGV[3])", "tonumber(value or '0') + 1 >= tonumber(ARGV[3])"}}, []string{"permits"}, unitTest{}},
	{"a permit moves although the program was told its id", []edit{{"permitsemaphore/move.go",
		"case g.shown, g.seen", "case g.seen"}}, []string{"ids"}, unitTest{}},
	{"a latch opens one too early", []edit{{"internal/scripts/countdownlatch/count_down.lua",
		"if tonumber(value) > tonumber(ARGV[5]) then", "if tonumber(value) > tonumber(ARGV[5]) + 1 then"}, {"internal/scripts/countdownlatch/count_down_alone.lua",
		"tonumber(count) > tonumber(ARGV[5]) then", "tonumber(count) > tonumber(ARGV[5]) + 1 then"}}, []string{"early latch", "conservation"}, unitTest{}},
	{"what shares a script is not done by it", []edit{{"internal/counter/together.go",
		"\t\ts.next.size++\n", ""}}, []string{"conservation", "stall"}, unitTest{}},
	{"waiters believe in messages", []edit{{"internal/cohort/schedule.go",
		"return max(minSleep, poll-jitter.Below(poll/10+1))", "return 40 * poll"}}, []string{"stall"}, unitTest{}},
	{"a cancelled acquisition is not undone", []edit{{"internal/counter/attempt.go",
		"\t\tc.revoke(try, take, call, doubt, k)\n", ""}}, []string{"conservation", "stall"}, unitTest{}},
	{"a late copy of the end of a streak passes the lock on under its holder", []edit{{"internal/locking/remote.go",
		"\t\tto := next.Subject(1, next.First.Set.FirstLease())\n", "\t\tnext.ID = t.ID\n\t\tto := next.Subject(1, next.First.Set.FirstLease())\n"}}, []string{"exclusion", "late loss"}, unitTest{}},
	{"tokens are issued twice", []edit{{"internal/scripts/fencedlock/issue.lua",
		"redis.pcall('incrby', KEYS[2], n or 1)", "redis.pcall('incrby', KEYS[2], redis.call('exists', KEYS[2]) == 1 and 0 or n or 1)"}}, []string{"tokens"}, unitTest{}},
	{"a waiter is handed the token of the hold before it", []edit{{"internal/baselock/move.go",
		"c.Token, t.Spare = before.Token+1,", "c.Token, t.Spare = before.Token,"}}, []string{"tokens"}, unitTest{}},
	{"a lock is handed on with tokens beyond the block", []edit{{"internal/baselock/move.go",
		"(t.Base.tokens == \"\" || t.Spare > 0) &&\n", "true &&\n"}}, []string{"tokens"}, unitTest{}},
	{"a process hands a lock on for 300 ms", []edit{{"internal/cohort/streak.go",
		"longestAlone  = 10 * time.Millisecond", "longestAlone  = 300 * time.Millisecond"}}, []string{"exclusion", "late loss", "false loss"}, unitTest{}},
	{"a process hands a lock on although it has heard of a force-unlock", []edit{{"internal/baselock/move.go",
		"line.Current(t.Streak.News))", "line.Hears())"}}, []string{"exclusion", "late loss", "false loss"}, unitTest{}},
	{"a guard forgets the tokens of what it has written", []edit{{"internal/scripts/fencedlock/write.lua",
		"remember(ARGV[3], ARGV[4], KEYS[3])\n", ""}}, []string{"stale write", "data"}, unitTest{}},

	// Defects of this library, each put back as it was before the commit that mended it.
	{"6780b13: a process sits in the row although the head of its line cannot be passed the lock", []edit{
		{"internal/locking/remote.go", "b.RowKeys, baselock.Patience(set), !handed(b, set))", "b.RowKeys, baselock.Patience(set), false)"},
		{"internal/locking/remote.go", "baselock.Patience(next.First.Set), !handed(b, next.First.Set)", "baselock.Patience(next.First.Set), false"},
	}, []string{"stall"}, unitTest{}},
	{"89da549: what is being given back is renewed", []edit{{"internal/locking/release.go",
		"\tt.Forget()\n\tswitch", "\tswitch"}}, []string{"stall", "late loss", "conservation", "left behind"}, unitTest{}},
	{"affeabb: a wait for permits that ended during an outage says that there are too few", []edit{{"internal/counter/shortage.go",
		"\twaited, found := errs.FoundOut(err)\n", "\twaited, found := errs.FoundOut(err)\n\tif found == nil {\n\t\tfound = tooFew{}\n\t}\n"}}, []string{model}, unitTest{}},
	{"b351dd3: a lock that was passed to one's own process is taken for somebody else's", []edit{{"internal/locking/wait.go",
		"status.Exists && status.Holds == 0", "status.Exists"}}, []string{"stall"}, unitTest{}},
	{"a7e985b: a re-entry with a lease of its own lasts as long as the hold around it", []edit{{"internal/baselock/limit.go",
		"if set.Lease == 0 && set.MaxHold == 0 {", "if set.MaxHold == 0 {"}}, []string{"overdue"}, unitTest{}},
	{"affeabb: a wait that ended during an outage says that somebody else has it", []edit{{"internal/locking/explain.go",
		"\twaited, found := errs.FoundOut(err)\n", "\twaited, found := errs.FoundOut(err)\n\tif found == nil {\n\t\tfound = errs.Refusal(\"is held\")\n\t}\n"}}, []string{model}, unitTest{}},
	{"bca1591: what a late copy of a refused acquisition takes is not undone", []edit{{"internal/counter/attempt.go",
		"got, doubt = lane.Granted{Again: -1}, &delivery.Failure{Doubt: true, Sent: receipt.Sent}", "got = lane.Granted{Again: -1}"}}, []string{"conservation", "stall"}, unitTest{}},
	{"13571bd: an uncertain release is not carried through", []edit{{"internal/counter/operation.go",
		"if op.owed != nil { //", "if false && op.owed != nil { //"}}, []string{"conservation", "stall", "early latch"}, unitTest{}},
	{"d60bd93: a writer that has left is announced by its last question", []edit{{"internal/locking/remote.go",
		"func(row.Answer) bool { return true }, t)", "func(r row.Answer) bool { return r.Held }, t)"}}, []string{"stall"}, unitTest{}},

	// Defects of this library that the simulation acquits, each with the unit test that convicts it. proof/README.md says why.
	{"48b36bd: a hold is handed on with a longer lease than its next holder asked for", []edit{{"internal/baselock/move.go",
		" && left <= longest\n", "\n"}}, nil,
		unitTest{"internal/locking", "TestALeaseThatIsLongerThanItsOwnIsNotInherited"}},
	{"48b36bd: a hold is shared with a longer lease than the one that joins asked for", []edit{{"internal/sides/join.go",
		", left > set.WatchdogTimeout:", ":"}}, nil,
		unitTest{"rwlock", "TestAReaderJoinsNoHoldWhoseLeaseIsLongerThanItsOwn"}},
	{"0204bcb: a lock is passed to a waiter whose WithMaxHold is shorter than the lease of a pass", []edit{{"internal/locking/remote.go",
		"set.Replicas == 0 && set.FirstLease() >= baselock.PassLease", "set.Replicas == 0 && set.WatchdogTimeout >= baselock.PassLease"}}, nil,
		unitTest{"internal/locking", "TestWhoCannotBePassedTheLockIsTold"}},
	{"0204bcb: the time of WithMaxHold begins before the lock is passed", []edit{{"internal/locking/remote.go",
		"t.Begin(now, trusted, scripts.Attempt", "t.Begin(since, trusted, scripts.Attempt"}}, nil,
		unitTest{"internal/locking", "TestTheTimeToHoldBeginsWhenTheMessageOfThePassIsRead"}},
	{"89da549: settling begins before the hold is handed out", []edit{{"internal/locking/acquire.go",
		"\tif reply.Held {\n\t\th, err = t.Accept(", "\tif receipt.Doubt {\n\t\tt.Doubted()\n\t}\n\tif reply.Held {\n\t\th, err = t.Accept("}}, nil,
		unitTest{"internal/locking", "TestSettlingDoesNotBeginBeforeTheHoldIsHandedOut"}},
	{"89da549: a release that is not confirmed waits for the settling of an older doubt", []edit{{"internal/baselock/settle.go",
		"!d.settling && (!planned || due.Before(d.due))", "!d.settling && !planned"}}, nil,
		unitTest{"internal/locking", "TestAReleaseThatIsNotConfirmedIsTriedSoonAlsoAfterAnOlderDoubt"}},
	{"83d40b3: a head whose claim ends without a signal sleeps on", []edit{{"internal/cohort/schedule.go",
		"plan{sleep: minSleep}", "plan{sleep: 1 << 62}"}}, nil,
		unitTest{"internal/cohort", "TestAWaiterAsksAfterAClaimDuringWhichItShouldHaveAsked"}},
	{"c5c58a2: what was taken for a caller that has left is given back for the release timeout only", []edit{{"semaphore/seeker.go",
		"func (k *seeker) Spare(n int64) { giveBackLater(k.counter, n) }\n",
		"func (k *seeker) Spare(n int64) {\n\tgo func() { _, _ = (&Semaphore{counter: k.counter}).ReleaseIfExists(context.Background(), n) }()\n}\n"}, {"semaphore/seeker.go",
		"import (\n", "import (\n\t\"context\"\n"}}, nil,
		unitTest{"semaphore", "TestWhatWasTakenForAWaiterThatHasLeftComesBackAlsoAfterAnOutage"}},
	{"93ebdcc: a renewal that failed is repeated as late as once", []edit{{"internal/watchdog/ticket.go",
		"t.schedule.every/20<<(t.failures-1)", "t.schedule.every/5<<(t.failures-1)"}}, nil,
		unitTest{"internal/watchdog", "TestErrorsAreRetriedWithGrowingPausesUntilTrustEnds"}},
	{"9f10282: a latch that was deleted is taken for one that was counted down", []edit{{"countdownlatch/await.go",
		"return fmt.Errorf(\"%w: latch %q\", ErrDeleted, l.Name())", "return nil"}}, nil,
		unitTest{"countdownlatch", "TestALateCallerIsToldHowTheLatchEnded"}},
	{"a tenant that is no more has the next one looked after no longer", []edit{{"internal/baselock/tenant.go",
		"if t.Tenant != c {", "if false {"}}, nil,
		unitTest{"internal/locking", "TestATenantThatIsNoMoreDoesNothingToTheNext"}},
	{"what was passed to a process whose first waiter cannot be given it is kept", []edit{{"internal/locking/remote.go",
		"\t\tb.Dismiss(p.Owner)\n\tcase cohort.Claimed:", "\tcase cohort.Claimed:"}}, nil,
		unitTest{"internal/locking", "TestWhatIsPassedToAProcessWhoseFirstWaiterCannotHaveItGoesOn"}},
	{"what was passed to a process whose first waiter wants a fixed lease is kept", []edit{{"internal/locking/remote.go",
		"\t\tb.Dismiss(p.Owner)\n\t\treturn\n", "\t\treturn\n"}}, nil,
		unitTest{"internal/locking", "TestAWaiterWithAFixedLeaseIsNotGivenWhatItsProcessWasPassed"}},
	{"a value of a group is taken half a second before its lease is over", []edit{{"internal/scripts/multilock/acquire.lua",
		"if ends > now then", "if ends > now + 500 then"}}, nil,
		unitTest{"internal/scripts/multilock", "TestAValueIsNotFreeBeforeItsDeadline"}},
}
