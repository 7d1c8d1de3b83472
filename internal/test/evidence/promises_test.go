package evidence

// A promise is a row of docs/reliability.md: what holds one promise of docs/guarantees.md.
type promise struct {
	id     string // of an anchor in docs/guarantees.md
	words  string // the promise in a few words
	tests  []string
	volume string   // what runs how often
	long   []string // parts of .ci/long that look for a counterexample
	about  []string // the folders on whose code the promise stands
}

const (
	once     = "each change: once"
	suite    = "each change: the suite of the locks, for each kind, on fake time, an embedded and a real server"
	simulate = "each change: fresh plans for 90 s on each of two processors; the other tests once"
	gate     = "each change: 2 s of each primitive from 64 goroutines; the other tests once"
)

var (
	engine   = list("internal/baselock", "internal/locking", "internal/cohort", "internal/watchdog", "internal/holds", "internal/clock")
	counters = list("internal/counter", "semaphore", "permitsemaphore", "countdownlatch")
	edge     = list("internal/delivery", "internal/dispatch", "internal/outcome", "internal/wakeup", "internal/session")
	scripts  = list("internal/scripts")
	fair     = list("fairlock", "internal/fair", "internal/fairqueue", "internal/scripts/fairlock")
	readers  = list("rwlock", "internal/baselock", "internal/locking", "internal/sides", "internal/cohort", "internal/scripts/rwlock")
	several  = list("multilock", "redlock", "internal/composite", "internal/quorum")
	handOff  = list("internal/baselock", "internal/locking", "internal/cohort", "internal/scripts/row")
	library  = join(engine, counters, edge, scripts, fair, list("rwlock"), several)
)

func join(lists ...[]string) (joined []string) {
	for _, list := range lists {
		joined = append(joined, list...)
	}
	return joined
}

func list(names ...string) []string { return names }

// promises has a row for each id, in the order of the page.
var promises = []promise{
	{"s1", "one holder", list(
		"TestSimulation", "TestParallel", "TestReentrantLock", "TestNonReentrantLock", "TestWriter",
		"TestMultiLock", "TestRedlockOfOne", "TestRandomFaultsAmongProcessesNeverAdmitTwoAndLeaveNothingBehind",
		"TestAMixedStormAdmitsNobodyTwice",
	), simulate, list("simulation", "soak", "parallel"), library},
	{"s2", "a loss is told in time", list(
		"TestSimulation", "TestTrustEndsAMarginBeforeTheLease", "TestAHoldThatCannotBeRenewedEndsBeforeItsLease",
		"TestADayOfRenewalsNeverLetsTrustRunShort", "TestTheMarginIsAHundredthWithinBounds",
	), simulate, list("simulation", "soak"), join(engine, edge)},
	{"s3", "each hold has its own lease", list(
		"TestSimulation", "TestReentrantLock", "TestAWriteLeaseThatIsOverEndsAlthoughItsReaderLives",
		"TestNoLeaseLastsLongerThanMaxHold",
	), simulate, list("simulation", "soak"), join(engine, list("permitsemaphore"))},
	{"s4", "a lock taken away is noticed", list(
		"TestSimulation", "TestALockDeletedUnderItsHolderIsNotCreatedAgain",
		"TestALongFixedLeaseTakenAwayIsNoticedAtTheNextCheck",
		"TestUnansweredRenewalsAreDoubledUpToThreeInFlight",
		"TestTheContextsOfALostHoldEndBeforeAnythingElseIsDone", "TestALossOfAThousandHoldsAsksNothingForEach",
	), simulate, list("simulation", "soak"), join(engine, scripts)},
	{"s5", "a lock taken away is not handed on", list(
		"TestSimulation", "TestTheJudgeExcusesHandOffsForAsLongAsAProcessMakesThem",
		"TestALockThatWasTakenByForceIsNotHandedOn", "TestALockThatWasDeletedIsHandedOnForTwoRoundTripsAtMost",
	), simulate, list("simulation", "soak", "parallel"), handOff},
	{"s6", "you free only your own lock", list(
		"TestReentrantLock", "TestNonReentrantLock", "TestSimulation",
		"TestAFinalReleaseWhoseAnswerIsLostAfterTheLeaseIsALoss",
	), suite, list("simulation", "soak"), join(engine, scripts)},
	{"s7", "effective once", list(
		"TestSimulation", "TestEveryOperationTakesEffectOnceWhateverHappensToItsMessages",
		"TestAnAcquisitionWhoseAnswerIsLostCountsOnce", "TestAReentryWhoseAnswerIsLostCountsOnce",
		"TestAGuardedWriteWithALostReplyIsMadeOnce", "TestTheWordsOfAProxyLeaveNothingTakenAndNothingTwice",
		"TestAUserWithoutOneRightLeavesNothingHalfDone",
	), simulate, list("simulation", "soak"), library},
	{"s8", "an ended wait takes nothing", list(
		"TestSimulation", "TestAcquisitionsCancelledAtAnyMomentLeaveNothing",
		"TestAcquisitionsCancelledAtRandomPointsLoseNoPermit", "TestCancellationAtEveryPointLeavesNothingBehind",
		"TestAnAbandonedAcquisitionLeavesNothingBehind",
	), simulate, list("simulation", "soak"), library},

	{"w1", "a context that ends is heeded", list(
		"TestLockReturnsExactlyAtItsDeadlineAgainstASilentPeer",
		"TestLockReturnsWithItsContextAlsoWhenTheServerStandsStill",
		"TestAWaitEndsWithItsContextAlsoWhenServersHang", "TestACallerIsNotStrandedWhereTheSystemNeverSignals",
		"TestLeavingCostsTheSameHoweverManyAreQueued",
	), once, nil, edge},
	{"w2", "no lost wake-up", list(
		"TestSimulation", "TestNoInterleavingLosesAWakeUp", "TestNobodyNeedsAPollWhereNoMessageIsLost",
		"TestLostMessagesAreMadeUpForByPolling", "TestInACrowdThatComesAndGoesNoProcessHasToPoll",
		"TestLeasesThatNobodyGivesBackFollowOneAnotherWithoutAGap",
	), simulate, list("simulation", "soak", "parallel"), join(handOff, counters, fair, list("internal/wakeup"))},
	{"w3", "order", list(
		"TestSimulation", "TestWaitersAreServedInTheOrderOfTheirArrival",
		"TestTheOrderIsThatOfArrivalInRedisExactly", "TestCallsOfOneProcessEnterInTheOrderInWhichTheyAreMade",
		"TestWhoLivesKeepsItsPlaceInAMixedQueue", "TestAFairLockKeepsTheOrderOfArrivalAcrossLanguages",
	), simulate, list("simulation", "soak"), join(fair, list("internal/cohort"))},
	{"w4", "other processes get their turn", list(
		"TestProcessesPassAHotKeyOn", "TestFourProcessesShareEvenly",
		"TestAHotKeyOfOneProcessDoesNotStarveAnother",
	), once, list("parallel"), handOff},
	{"w5", "permits move within a process for a short time", list(
		"TestAPermitMovesWithoutACommandUntilTheLotIsOld", "TestAnotherProcessHasItsTurnBesideABusyOne",
		"TestAnotherProcessHasItsPermitBesideABusyOne",
	), once, list("simulation", "parallel"), counters},
	{"w6", "a release wakes one process", list(
		"TestAReleaseWakesOneProcess", "TestAReleaseWakesOneProcessWhateverItsLease",
		"TestHowManyScriptsAServedOperationCostsBeside200WaitingProcesses",
	), "each change: 200 waiting processes of each kind; the other tests once", nil, join(handOff, counters)},
	{"w7", "a dead process keeps no other waiting for long", list(
		"TestADeadProcessIsPassedNothing", "TestAProcessThatDiesUnnoticedStopsTheOthersForTheLeaseOfAPass",
		"TestAProcessThatIsKilledWhileItWaitsKeepsNobodyWaiting",
		"TestTheDeadAreWaitedForOnceHoweverManyTheyWere",
	), once, list("simulation", "soak"), join(handOff, fair)},
	{"w8", "a dead writer does not keep readers out", list(
		"TestAPreferredWriterThatDiesKeepsReadersOutForTwoPolls",
		"TestAPreferredWriterThatIsKilledKeepsReadersOutForSeconds",
	), once, list("simulation"), readers},
	{"w9", "releases go through", list(
		"TestUnlockIsBoundedAndGoesOnInTheBackground", "TestAReleaseGoesOnUntilTheLeaseIsOver",
		"TestAReleaseOfPermitsWithoutALeaseIsRepeatedForADay",
		"TestReleaseReturnsWithinItsTimeoutHoweverPatientTheClient",
		"TestAReleaseThatTheServerWillNeverExecuteIsRepeatedForAMinute",
	), once, list("simulation", "soak"), join(engine, counters, edge)},
	{"w10", "nothing stays", list(
		"TestParallel", "TestSimulation", "TestAPlanLeavesNothingInMemory", "TestNothingRunsAfterTheLastWaiter",
		"TestTheMemoryBesideTheSemaphoreStaysSmallAndEnds",
	), gate, list("parallel", "soak"), library},
	{"w11", "a latch says why it is open", list(
		"TestALateCallerIsToldHowTheLatchEnded", "TestAWaiterIsToldOfTheRoundThatItWaitsFor",
		"TestTheRecordIsRightWhateverHappensToTheMessages", "TestTheRecordLastsADayLongerThanTheLatch",
	), once, list("simulation"), list("countdownlatch", "internal/scripts/countdownlatch")},

	{"h1", "for how long a lock is handed on", list(
		"TestAStreakIsOver", "TestTheNewsOfAStreakIsFreshForAsLongAsAStreakLasts",
		"TestALockThatWasPassedAWhileAgoIsNotHandedOnUnasked", "TestALossIsFoundOutWhenTheStreakIsOver",
	), once, list("simulation"), handOff},
	{"h2", "a force-unlock ends hand-offs", list(
		"TestNobodyIsHandedALockThatAnotherProcessHasTakenByForce",
		"TestAForceUnlockByTheProcessItselfEndsItsRowAtOnce", "TestWhatThisProcessFreesByForceIsNotHandedOn",
		"TestAWriteLockThatWasTakenByForceIsNotHandedOn",
	), once, list("simulation", "parallel"), join(handOff, fair, several)},
	{"h3", "readers of a process share a hold", list(
		"TestNoOrderBreaksAShare", "TestEachThatSharesALostHoldLearnsOfItOnce",
		"TestAReaderJoinsNobodyWhoWasForcedOutBeforeItsAnswerCame",
	), "each change: all orders of up to nine steps; the other tests once", list("simulation", "parallel"), readers},
	{"h4", "hand-offs can be switched off", list(
		"TestWithoutLocalHandOffEveryAcquisitionIsMadeInRedis", "TestWithoutLocalHandOffEachReleaseIsACommand",
		"TestWithoutLocalHandOffEachHolderOfTheMembersIsAnother",
		"TestThePathTellsAHandOffThatRedisHasConfirmedFromOneThatItHasNot",
	), once, nil, join(handOff, counters, several)},

	{"t1", "turns at an rlock or a fencedlock", list(
		"TestAReleasePassesTheLockToTheProcessThatHasWaitedLongest", "TestHandOversInARowAreFew",
		"TestAfterARunAnotherProcessIsFirst",
	), once, list("parallel"), handOff},
	{"t2", "a waiter that cannot be passed a lock is told", list(
		"TestWhoCannotBePassedTheLockIsTold", "TestWhoReleasesLeavesTheLockToTheProcessThatItTells",
	), once, list("simulation"), handOff},
	{"t3", "outsiders have their turn", list(
		"TestAnOutsiderHasItsTurnInTime", "TestEveryEighthTimeInARowIsEightTimesAsLong",
		"TestAJavaWaiterComesInBesideBusyGoProcesses",
	), once, nil, handOff},
	{"t4", "pollers meet a free lock", list(
		"TestATryOfAnotherProcessSucceedsBesideALockThatIsNeverFree",
		"TestWhoSitsInNoRowMeetsTheLockFreeNowAndThen",
	), once, nil, handOff},
	{"t5", "a TryLock respects the time of outsiders", list(
		"TestATryLeavesALockToOutsidersToo",
	), once, nil, handOff},
	{"t6", "turns at a spinlock", list(
		"TestAProcessHandsTheLockOnWithoutACommandAndLeavesItToOthers", "TestSpinLock",
	), suite, list("parallel"), join(list("spinlock"), engine)},
	{"t7", "turns at a redlock or a multi-lock", list(
		"TestAProcessHandsTheLockOnForABoundedTime", "TestAProcessHandsTheMembersOnForABoundedTime",
		"TestTheLockIsLeftToOthersNowAndThenAfterLongSections",
		"TestTheMembersAreLeftToOthersNowAndThenAfterLongSections", "TestFourProcessesShareTheMembersEvenly",
	), once, list("parallel"), several},
	{"t8", "outsiders have their turn at members of a multi-lock", list(
		"TestAnOutsiderHasItsTurnOfAMultiLockInTime", "TestWhatIsLeftToOutsidersIsNotTakenByACallThatWaits",
		"TestAJavaMultiLockHasItsShareBesideBusyGoProcesses",
	), once, nil, several},
	{"t9", "turns at the write side of an rwlock", list(
		"TestWritersOfAProcessHandTheLockOnWithoutACommand",
		"TestATryOfAnotherProcessSucceedsBesideWritersThatHandTheLockOn",
		"TestOthersGetInBesideAProcessWhoseWritersNeverStop",
		"TestThoseThatWaitAreServedInTheirOrderWhateverItIs",
	), once, list("parallel"), readers},
	{"t10", "readers of a process let others in", list(
		"TestASharedHoldIsLeftToThoseWhoWaitElsewhere", "TestAReaderThatCannotWaitForOthersToLeaveAsks",
		"TestAReaderThatWaitsForOthersToLeaveWasRefusedByNobody",
	), once, list("simulation", "parallel"), readers},
	{"t11", "an outsider writes beside readers", list(
		"TestAnOutsiderThatWritesHasItsTurnInTime", "TestAListenerThatNeverAsksKeepsReadersOutForMomentsOnly",
		"TestAJavaWriterHasItsTurnsBesideReadersOfBusyGoProcesses",
	), once, nil, readers},

	{"p1", "what others see while permits move", list(
		"TestASemaphoreThatIsGoneIsNoticedWhenTheLotIsOld", "TestADebtIsPaidWhenTheLotIsOld",
		"TestAnOutsiderThatListensHearsOfRaises",
	), once, list("simulation"), counters},
	{"p2", "permits with ids move with them", list(
		"TestAPermitThatHasMovedLivesOn", "TestADeletedSemaphoreIsNoticedInTheMiddleOfAStreak",
		"TestAPermitThatIsTakenAwayIsNoticedInTheMiddleOfAStreak", "TestNoPermitIsLostOrInventedUnderFaults",
	), once, list("simulation", "soak"), counters},
	{"p3", "an id that was told is never another's", list(
		"TestAnIdThatTheProgramHasSeenIsNeverGivenToAnother",
		"TestWhetherAnIdIsKnownIsDecidedTogetherWithTheMove", "TestSimulation",
	), simulate, list("simulation"), counters},

	{"k1", "a lock goes to the process that has waited longest", list(
		"TestAReleasePassesTheLockToTheProcessThatHasWaitedLongest", "TestWhoCannotBePassedTheLockIsTold",
	), once, nil, handOff},
	{"k2", "a permit wakes one process", list(
		"TestAReleaseWakesOneProcess", "TestARaiseTellsTheFirstForWhomItIsEnough",
		"TestAListenerOfRedissonsHearsOfEveryRaise",
	), once, nil, join(counters, list("internal/scripts/row"))},
	{"k3", "nothing is reserved for a process that was woken", list(
		"TestWhoWasToldInVainKeepsItsPlace", "TestThoseWhoWantTooManyAskOncePerPoll",
	), once, nil, join(counters, list("internal/scripts/row"))},
	{"k4", "without sharded channels all are woken", list(
		"TestOnAClusterWithClassicChannelsNoPassIsLost",
		"TestOnAClusterWithoutShardedMessagesTheOthersAreUsedByBothSides",
	), "each change: once on a cluster", nil, handOff},

	{"b1", "what stays in Redis", list(
		"TestParallel", "TestACleanEndLeavesNothingInTheRegistry",
		"TestTheEntryOfAProcessThatDiedStaysUntilItsLeasesAreLongOver",
		"TestAnEntryThatCouldNotBeRemovedDuringAFailoverIsRemovedAfterIt",
	), gate, list("parallel", "soak"), library},

	{"n1", "replicas narrow the gap of a failover", list(
		"TestWithReplicasHoldsOnlyWhatReplicasHave", "TestAFailoverKeepsWhatTheReplicaHasAndTellsTheRest",
	), "each change: once on real servers", list("soak"), edge},
	{"n2", "a restart with appendfsync always keeps locks", list(
		"TestWithAppendfsyncAlwaysNothingConfirmedIsLost", "TestALossByARestartIsToldAsThat",
	), "each change: once on real servers", list("soak"), edge},
	{"n3", "a suspension counts against a lease", list(
		"TestASuspensionEndsWhatItOutlasts", "TestAfterASuspensionARenewedHoldGoesOn",
		"TestASuspensionAgesWhatCameBeforeIt",
	), once, list("soak"), list("internal/clock", "internal/watchdog")},
	{"f1", "tokens grow while their counter survives", list(
		"TestSimulation", "TestTokensGrowThroughAStorm", "TestRacingWritersAreOrderedByTheirTokens",
		"TestAWriterThatWasReplacedIsRefused", "TestTokensGrowStrictlyAcrossLanguages",
	), simulate, list("simulation", "soak"), list("fencedlock", "internal/baselock", "internal/locking", "internal/scripts/fencedlock")},
	{"f2", "a re-entry or Unlock raises a lost counter", list(
		"TestACounterThatIsLostInAStreakGoesOnAboveItsTokens", "TestOfTwoOwnersOfOneTokenTheGuardTakesTheFirst",
		"TestAGuardRemembersWhenLockAndDataAreGone",
	), once, nil, list("fencedlock", "internal/baselock", "internal/locking", "internal/scripts/fencedlock")},
	{"f3", "tokens of the clock outlive their counter", list(
		"TestClockTokensOutliveTheirCounter",
	), once, list("simulation"), list("fencedlock", "internal/scripts/fencedlock")},
	{"v1", "a semaphore that was lost comes back whole", list(
		"TestASemaphoreComesBackWholeAfterALossOfData", "TestWaitersSetUpASemaphoreThatIsGone",
		"TestWhenTheAnswerIsLostASemaphoreIsSetUpOnce",
	), once, nil, counters},
	{"v2", "a late acquisition never lets two in", list(
		"TestSimulation", "TestAGhostOfAnAcquisitionDoesNotKeepTheLock",
		"TestTheGhostOfAnEarlierSendIsGivenBackAlthoughTheCallerLeft",
		"TestAGhostOfARefusedOperationHasNoEffectLater",
	), simulate, list("simulation", "soak"), join(engine, counters)},
}
