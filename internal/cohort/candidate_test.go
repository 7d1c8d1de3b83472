package cohort

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// far is a time that does not come.
const far = 1000 * time.Hour

// bare is a registry without a session.
func bare() *Registry { return &Registry{} }

// deaf subscribes a cohort to nothing.
func deaf(*Cohort) Subscriptions { return Subscriptions{} }

// minter mints owners by number.
func minter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("me:", n) }
}

// wait begins a wait, until the test cancels it. able says that the waiter can be given the lock.
func wait(l *Cohort, able bool) (cancel context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var request *Request
	if able {
		request = &Request{Who: "a waiter", Expected: true, Poll: far}
	}
	go func() {
		_ = l.WaitFor(ctx, 0, request, func(context.Context) (Verdict, error) { return Verdict{Sleep: far}, nil })
	}()
	synctest.Wait()
	return cancel
}

// withWaiter runs a test on a cohort with a waiter that can be given the lock.
func withWaiter(t *testing.T, run func(t *testing.T, l *Cohort, part func() *Candidate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, _, part := bare().Join(KeyFor("lock", ""), deaf)
		cancel := wait(l, true)
		defer l.Stop()
		defer cancel()
		run(t, l, part)
	})
}

// Each row is one way of the first candidate through the diagram, and whether the last step says that it has to be settled.
func TestACandidateIsSettledWhenItsLastCommandEndsUnlessItHolds(t *testing.T) {
	type step func(s *Candidacy, p *Candidate) (settle bool)
	now := time.Now()
	mint := minter()
	var (
		ask       step = func(s *Candidacy, p *Candidate) bool { return s.Ask(mint) != p }
		refused   step = func(s *Candidacy, p *Candidate) bool { return s.Refused(p, now, 7) }
		noQueue   step = func(s *Candidacy, p *Candidate) bool { return s.Refused(p, now, 0) }
		unsent    step = func(s *Candidacy, p *Candidate) bool { return s.Refused(p, time.Time{}, 0) }
		won       step = func(s *Candidacy, p *Candidate) bool { s.Won(p); return false }
		failed    step = func(s *Candidacy, p *Candidate) bool { s.Failed(p); return false } // the caller settles it in any case
		enqueue   step = func(s *Candidacy, p *Candidate) bool { return s.Enqueue(mint) != p }
		enqueued  step = func(s *Candidacy, p *Candidate) bool { return s.Enqueued(p, true, 0) }
		handedOff step = func(s *Candidacy, p *Candidate) bool { return s.Enqueued(p, true, 9) }
		notFreed  step = func(s *Candidacy, p *Candidate) bool { return s.Enqueued(p, false, 0) }
		unknown   step = func(s *Candidacy, p *Candidate) bool { return s.Unknown(p) }
		leave     step = func(s *Candidacy, p *Candidate) bool { return s.leave() == p }
	)
	for name, row := range map[string]struct {
		steps  []step
		settle bool // the last step says so; no other does
		doubt  bool
	}{
		"ask refused":                                              {[]step{ask, refused, leave}, true, false},
		"ask refused, no queue":                                    {[]step{ask, noQueue, leave}, false, false},
		"queued, and then no queue":                                {[]step{ask, refused, ask, noQueue, leave}, true, false},
		"ask not sent":                                             {[]step{ask, unsent, leave}, false, false},
		"queued, and then an ask not sent":                         {[]step{ask, refused, ask, unsent, leave}, true, false},
		"ask won":                                                  {[]step{ask, won, leave}, false, false},
		"queued, and then an ask won":                              {[]step{ask, refused, ask, won, leave}, false, false},
		"ask failed":                                               {[]step{ask, failed, leave}, false, true},
		"left during an ask that is refused":                       {[]step{ask, leave, refused}, true, false},
		"left during an ask that is refused, no queue":             {[]step{ask, leave, noQueue}, false, false},
		"left during an ask that wins":                             {[]step{ask, leave, won}, false, false},
		"queued by a release":                                      {[]step{ask, unsent, enqueue, enqueued, leave}, true, false},
		"queued by a release that handed the lock off":             {[]step{ask, unsent, enqueue, handedOff, leave}, true, false},
		"release not executed":                                     {[]step{ask, unsent, enqueue, notFreed, leave}, false, false},
		"queued, and then a release not executed":                  {[]step{ask, refused, enqueue, notFreed, leave}, true, false},
		"left during a release that enqueues":                      {[]step{ask, unsent, enqueue, leave, enqueued}, true, false},
		"left during a release that is not executed":               {[]step{ask, unsent, enqueue, leave, notFreed}, false, false},
		"release of unknown outcome":                               {[]step{ask, unsent, enqueue, unknown}, true, true},
		"left during a release of unknown outcome":                 {[]step{ask, unsent, enqueue, leave, unknown}, true, true},
		"release of unknown outcome, the ask is refused":           {[]step{ask, enqueue, unknown, refused, leave}, true, true},
		"release of unknown outcome, the ask is refused, no queue": {[]step{ask, enqueue, unknown, noQueue, leave}, true, true},
		"release of unknown outcome, the ask wins":                 {[]step{ask, enqueue, unknown, won, leave}, false, true},
		"ask failed, the release enqueues":                         {[]step{ask, enqueue, failed, enqueued}, true, true},
		"ask failed, the release is not executed":                  {[]step{ask, enqueue, failed, notFreed}, true, true},
		"ask failed, release of unknown outcome":                   {[]step{ask, enqueue, failed, unknown}, true, true},
		"left during both, the release ends first":                 {[]step{ask, enqueue, leave, enqueued, refused}, true, false},
		"left during both, the ask ends first":                     {[]step{ask, enqueue, leave, refused, enqueued}, true, false},
		"left during both, the ask wins":                           {[]step{ask, enqueue, leave, won, enqueued}, false, false},
		"left during both, the ask wins, the release is unknown":   {[]step{ask, enqueue, leave, won, unknown}, false, true},
		"ask won while the release enqueues":                       {[]step{ask, enqueue, won, enqueued, leave}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var s Candidacy
			p := s.Ask(mint)
			for i, step := range row.steps[1:] { // the first is always ask
				last := i == len(row.steps)-2
				require.Equal(t, last && row.settle, step(&s, p), "step %d of %d", i+2, len(row.steps))
			}
			require.Equal(t, row.doubt, s.InDoubt(p))
		})
	}
}

func TestAMessageIsNotBelievedWhileAnAskIsUnderWay(t *testing.T) {
	withWaiter(t, func(t *testing.T, l *Cohort, part func() *Candidate) {
		mint := minter()
		given := func(owner string) HandOff {
			synctest.Wait() // what was ignored may have the waiter ask
			gift, claim, _ := l.HandedTo(owner, 8)
			if gift == Claimed {
				claim.Refuse()
				synctest.Wait()
			}
			return gift
		}
		require.Equal(t, Ignored, given("me:1"), "there is no candidate")
		p := l.Candidacy.Ask(mint)
		require.Equal(t, Ignored, given(p.Owner), "it asks")
		require.False(t, l.Candidacy.Refused(p, time.Now(), 7))
		require.Equal(t, Ignored, given("me:77"), "another's")
		require.Equal(t, Claimed, given(p.Owner))
		require.Equal(t, Ignored, given(p.Owner), "twice")
		require.False(t, l.Candidacy.Enqueued(p, true, 0), "it holds")

		q := l.Candidacy.Ask(mint)
		require.NotEqual(t, p.Owner, q.Owner)
		l.Candidacy.Failed(q)
		require.Equal(t, Ignored, given(q.Owner), "settling gives it back")

		r := l.Candidacy.Enqueue(mint)
		require.Equal(t, Claimed, given(r.Owner), "before the release is answered")
		require.False(t, l.Candidacy.Enqueued(r, true, 5))

		require.Nil(t, part())
	})
}

// A message that is not believed makes the head ask once more: the answer to the ask under way may be older than the message.
func TestAMessageThatIsNotBelievedWakesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := bare().Join(KeyFor("lock", ""), deaf)
		defer l.Stop()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		attempts := 0
		go func() {
			_ = l.WaitFor(ctx, 0, &Request{Expected: true, Poll: far}, func(context.Context) (Verdict, error) {
				attempts++
				return Verdict{Sleep: far}, nil
			})
		}()
		synctest.Wait()
		require.Zero(t, attempts)
		p := l.Candidacy.Ask(minter())
		gift, _, _ := l.HandedTo(p.Owner, 8)
		require.Equal(t, Ignored, gift)
		synctest.Wait()
		require.Equal(t, 1, attempts)
	})
}

func TestALockThatNoWaiterCanBeGivenIsDeclined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mint := minter()
		l, _, part := bare().Join(KeyFor("lock", ""), deaf)
		defer l.Stop()
		p := l.Candidacy.Ask(mint)
		l.Candidacy.Refused(p, time.Now(), 7)
		gift, _, _ := l.HandedTo(p.Owner, 8)
		require.Equal(t, Ignored, gift, "settling after the last call has left gives it back")
		cancel := wait(l, false)
		gift, _, _ = l.HandedTo(p.Owner, 8)
		require.Equal(t, Declined, gift, "the waiter cannot be given it")
		cancel()
		require.Nil(t, part(), "it was declined")

		q := l.Candidacy.Enqueue(mint)
		require.Nil(t, q, "no call is left that would settle it")
	})
}

// The first call has left the queue and not yet parted with the cohort. The second has joined the cohort and not yet the
// queue. Neither settles the candidate.
func TestAMessageThatComesBetweenTwoWaitersIsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, key := bare(), KeyFor("lock", "")
		l, _, part := s.Join(key, deaf)
		cancel := wait(l, true)
		l.Wake() // the waiter asks, and is to ask again when far is over
		synctest.Wait()
		p := l.Candidacy.Ask(minter())
		l.Candidacy.Refused(p, time.Now(), 7)
		cancel()
		synctest.Wait()
		_, _, partNext := s.Join(key, deaf)
		gift, _, _ := l.HandedTo(p.Owner, 8)
		require.Equal(t, Ignored, gift)
		require.Nil(t, part())
		start := time.Now()
		require.NoError(t, l.WaitFor(t.Context(), 0, &Request{Poll: far}, func(context.Context) (Verdict, error) {
			return Verdict{Done: true}, nil
		}))
		require.Zero(t, time.Since(start))
		require.Same(t, p, partNext())
	})
}

func TestALaterCallMakesANewCandidate(t *testing.T) {
	s, key, mint := bare(), KeyFor("lock", ""), minter()
	s.Hold(key, &Holder{Gives: true}) // keeps the cohort
	l, _, part := s.Join(key, deaf)
	_, _, partOther := s.Join(key, deaf)
	p := l.Candidacy.Enqueue(mint)
	require.Nil(t, part(), "another call uses it")
	require.Nil(t, partOther(), "the release is under way")
	require.Nil(t, l.Candidacy.Enqueue(mint))
	again, _, part := s.Join(key, deaf)
	require.Same(t, l, again)
	q := l.Candidacy.Enqueue(mint)
	require.NotEqual(t, p.Owner, q.Owner)
	require.True(t, l.Candidacy.Enqueued(p, true, 0))
	require.False(t, l.Candidacy.Enqueued(q, true, 0))
	require.Same(t, q, part())
}

// since must not be later than the hand-off, whatever happens between that and its message.
func TestTrustIsCountedFromBeforeTheHandOff(t *testing.T) {
	for name, c := range map[string]struct {
		enqueue func(l *Cohort, at int64) // at 100 ms by the server's clock
		since   time.Duration             // of a hand-off 5 s later, whose message arrives 3 s after it
	}{
		"refused": {func(l *Cohort, at int64) { p := l.Candidacy.Ask(minter()); l.Candidacy.Refused(p, time.Now(), at) }, 5*time.Second - time.Millisecond},
		"refused twice": {func(l *Cohort, at int64) { // the clocks do not run alike
			p := l.Candidacy.Ask(minter())
			l.Candidacy.Refused(p, time.Now().Add(-time.Hour), 1)
			l.Candidacy.Ask(nil)
			l.Candidacy.Refused(p, time.Now(), at)
		}, 5*time.Second - time.Millisecond},
		"by a release that freed it":          {func(l *Cohort, at int64) { p := l.Candidacy.Enqueue(minter()); l.Candidacy.Enqueued(p, true, 0) }, 0},
		"by a release that handed it off":     {func(l *Cohort, at int64) { p := l.Candidacy.Enqueue(minter()); l.Candidacy.Enqueued(p, true, at) }, 5*time.Second - time.Millisecond},
		"by a release that has no answer yet": {func(l *Cohort, at int64) { l.Candidacy.Enqueue(minter()) }, 0},
		"both": {func(l *Cohort, at int64) {
			p := l.Candidacy.Enqueue(minter())
			l.Candidacy.Ask(nil)
			l.Candidacy.Refused(p, time.Now(), at)
			l.Candidacy.Enqueued(p, true, at)
		}, 5*time.Second - time.Millisecond},
	} {
		for _, late := range []string{"", " and a release that was not executed", " and one that has no answer yet"} {
			t.Run(name+late, func(t *testing.T) {
				withWaiter(t, func(t *testing.T, l *Cohort, _ func() *Candidate) {
					start := time.Now()
					c.enqueue(l, 100)
					time.Sleep(5 * time.Second)
					at := int64(5100) // of the hand-off
					time.Sleep(time.Second)
					if p := l.Candidacy.current; late != "" {
						require.Same(t, p, l.Candidacy.Enqueue(nil))
						if late == " and a release that was not executed" {
							l.Candidacy.Enqueued(p, false, 0)
						}
					}
					time.Sleep(2 * time.Second)
					gift, claim, since := l.HandedTo(l.Candidacy.current.Owner, at)
					require.Equal(t, Claimed, gift)
					require.Equal(t, c.since, since.Sub(start))
					claim.Refuse()
				})
			})
		}
	}
}

// With WithPoll(time.Hour) the question is two hours old perhaps, and the clocks of the two have moved apart since.
func TestAHandOffIsAskedForWhereTheLastQuestionIsOld(t *testing.T) {
	for age, want := range map[time.Duration]HandOff{9 * time.Second: Claimed, 11 * time.Second: Ignored, time.Hour: Ignored} {
		withWaiter(t, func(t *testing.T, l *Cohort, _ func() *Candidate) {
			p := l.Candidacy.Ask(minter())
			l.Candidacy.Refused(p, time.Now(), 1000)
			time.Sleep(age)
			gift, claim, _ := l.HandedTo(p.Owner, 1000+age.Milliseconds())
			require.Equal(t, want, gift, age)
			if gift == Claimed {
				claim.Refuse()
				return
			}
			require.Same(t, p, l.Candidacy.current, "the answer to the next question says that it holds")
		})
	}
}

func TestAServersClockThatWasSetGivesNoTrustInTheFuture(t *testing.T) {
	for _, at := range []int64{1, 1 << 50} {
		withWaiter(t, func(t *testing.T, l *Cohort, _ func() *Candidate) {
			start := time.Now()
			p := l.Candidacy.Ask(minter())
			l.Candidacy.Refused(p, start, 1000)
			time.Sleep(time.Second)
			_, claim, since := l.HandedTo(p.Owner, at)
			require.False(t, since.Before(start))
			require.False(t, since.After(time.Now()))
			claim.Refuse()
		})
	}
}

// The time since then bounds for how long other processes wait, and the clock on the wall may be set meanwhile.
func TestClosedSinceIsAMomentOfTheMonotonicClock(t *testing.T) {
	l, since := &Cohort{}, time.Now().Add(-time.Minute)
	require.Zero(t, l.ClosedSince())
	l.CloseSince(since)
	require.Zero(t, l.ClosedSince().Sub(since))
	require.NotEqual(t, l.ClosedSince().Round(0), l.ClosedSince(), "a time of the wall clock alone")
	l.CloseSince(time.Time{})
	require.Zero(t, l.ClosedSince())
}
