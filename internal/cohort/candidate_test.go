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

// bare is a session that nobody needs a client for.
func bare() *Registry { return &Registry{} }

// deaf subscribes a cohort to nothing.
func deaf(*Cohort) Subscriptions { return Subscriptions{} }

// minter mints owners by number.
func minter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("me:", n) }
}

// wait has somebody wait in line who can be given the lock, if able, until the test cancels. It returns when he does.
func wait(l *Cohort, able bool) (cancel context.CancelFunc, offer *Request) {
	ctx, cancel := context.WithCancel(context.Background())
	offer = &Request{Who: "somebody", Expected: true, Poll: far}
	given := offer
	if !able {
		given = nil
	}
	go func() {
		_ = l.WaitFor(ctx, 0, given, func(context.Context) (Verdict, error) { return Verdict{Sleep: far}, nil })
	}()
	synctest.Wait()
	return cancel, offer
}

// inLine runs a test on a line with one who waits and can be given the lock.
func inLine(t *testing.T, run func(t *testing.T, l *Cohort, part func() *Candidate)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, _, part := bare().Join(KeyFor("lock", ""), deaf)
		cancel, _ := wait(l, true)
		defer l.Stop()
		defer cancel()
		run(t, l, part)
	})
}

// Each row is one way through the diagram: what is done with the first sitter, what becomes of the messages, and whether
// it has to be settled by the last step, by an earlier one, or when everybody has left.
func TestASitterIsSettledByItsLastEndUnlessItHolds(t *testing.T) {
	type step func(s *Candidacy, p *Candidate) (settle bool)
	now := time.Now()
	mint := minter()
	var (
		ask     step = func(s *Candidacy, p *Candidate) bool { return s.Ask(mint) != p }
		refused step = func(s *Candidacy, p *Candidate) bool { return s.Refused(p, now, 7) }
		noRow   step = func(s *Candidacy, p *Candidate) bool { return s.Refused(p, now, 0) }
		unsent  step = func(s *Candidacy, p *Candidate) bool { return s.Unsent(p) }
		won     step = func(s *Candidacy, p *Candidate) bool { s.Won(p); return false }
		failed  step = func(s *Candidacy, p *Candidate) bool { s.Failed(p); return false } // for the caller to settle
		sitDown step = func(s *Candidacy, p *Candidate) bool { return s.Enqueue(mint) != p }
		sat     step = func(s *Candidacy, p *Candidate) bool { return s.Enqueued(p, true, 0) }
		passed  step = func(s *Candidacy, p *Candidate) bool { return s.Enqueued(p, true, 9) }
		unsat   step = func(s *Candidacy, p *Candidate) bool { return s.Enqueued(p, false, 0) }
		lost    step = func(s *Candidacy, p *Candidate) bool { return s.Unknown(p) }
		leave   step = func(s *Candidacy, p *Candidate) bool { return s.leave() == p }
	)
	for name, row := range map[string]struct {
		steps  []step
		settle bool // by the last step; none of the others does
		doubt  bool
	}{
		"refused":                                   {[]step{ask, refused, leave}, true, false},
		"refused where there is no row":             {[]step{ask, noRow, leave}, false, false},
		"sits, and then the row cannot be had":      {[]step{ask, refused, ask, noRow, leave}, true, false},
		"not asked":                                 {[]step{ask, unsent, leave}, false, false},
		"sits, and then not asked":                  {[]step{ask, refused, ask, unsent, leave}, true, false},
		"got it":                                    {[]step{ask, won, leave}, false, false},
		"sat, and got it":                           {[]step{ask, refused, ask, won, leave}, false, false},
		"nobody knows":                              {[]step{ask, failed, leave}, false, true},
		"left while it asked":                       {[]step{ask, leave, refused}, true, false},
		"left while it asked in vain, with no row":  {[]step{ask, leave, noRow}, false, false},
		"left while it asked, and got it":           {[]step{ask, leave, won}, false, false},
		"sits by a release":                         {[]step{ask, unsent, sitDown, sat, leave}, true, false},
		"by a release that passed":                  {[]step{ask, unsent, sitDown, passed, leave}, true, false},
		"not by a release":                          {[]step{ask, unsent, sitDown, unsat, leave}, false, false},
		"not by a release, but before":              {[]step{ask, refused, sitDown, unsat, leave}, true, false},
		"left while it sat down":                    {[]step{ask, unsent, sitDown, leave, sat}, true, false},
		"left while it did not":                     {[]step{ask, unsent, sitDown, leave, unsat}, false, false},
		"nobody knows whether it sat down":          {[]step{ask, unsent, sitDown, lost}, true, true},
		"nor cares":                                 {[]step{ask, unsent, sitDown, leave, lost}, true, true},
		"an ask goes on when the release is lost":   {[]step{ask, sitDown, lost, refused, leave}, true, true},
		"and also finds nothing":                    {[]step{ask, sitDown, lost, noRow, leave}, true, true},
		"and finds out":                             {[]step{ask, sitDown, lost, won, leave}, false, true},
		"a release goes on when the ask is lost":    {[]step{ask, sitDown, failed, sat}, true, true},
		"and has not sat anybody down":              {[]step{ask, sitDown, failed, unsat}, true, true},
		"and is lost":                               {[]step{ask, sitDown, failed, lost}, true, true},
		"left while both are under way":             {[]step{ask, sitDown, leave, sat, refused}, true, false},
		"left, the ask ends first":                  {[]step{ask, sitDown, leave, refused, sat}, true, false},
		"left, the ask ends first and got it":       {[]step{ask, sitDown, leave, won, sat}, false, false},
		"left, the ask got it and the release lost": {[]step{ask, sitDown, leave, won, lost}, false, true},
		"got it while it sat down":                  {[]step{ask, sitDown, won, sat, leave}, false, false},
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

func TestAMessageIsBelievedOnlyByWhoIsNotAsking(t *testing.T) {
	inLine(t, func(t *testing.T, l *Cohort, part func() *Candidate) {
		mint := minter()
		given := func(owner string) HandOff {
			gift, claim, _ := l.HandedTo(owner, 8)
			if gift == Claimed {
				claim.Refuse("somebody")
				synctest.Wait()
			}
			return gift
		}
		require.Equal(t, Ignored, given("me:1"), "there is no sitter")
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
		require.Equal(t, Ignored, given(q.Owner), "whoever settles gives it back")

		r := l.Candidacy.Enqueue(mint)
		require.Equal(t, Claimed, given(r.Owner), "before the release is answered")
		require.False(t, l.Candidacy.Enqueued(r, true, 5))

		require.Nil(t, part())
	})
}

// A message that is not believed has the line ask once more: the answer to the ask under way may be older than it.
func TestAMessageThatIsNotBelievedWakesTheLine(t *testing.T) {
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

func TestAMessageForWhomNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mint := minter()
		l, _, part := bare().Join(KeyFor("lock", ""), deaf)
		defer l.Stop()
		p := l.Candidacy.Ask(mint)
		l.Candidacy.Refused(p, time.Now(), 7)
		gift, _, _ := l.HandedTo(p.Owner, 8)
		require.Equal(t, Ignored, gift, "whoever parts gives it back")
		cancel, _ := wait(l, false)
		gift, _, _ = l.HandedTo(p.Owner, 8)
		require.Equal(t, Declined, gift, "whoever waits cannot be given it")
		cancel()
		require.Nil(t, part(), "it was declined")

		q := l.Candidacy.Enqueue(mint)
		require.Nil(t, q, "nobody uses the seat: nobody would settle it")
	})
}

// One has left the line and not the session, and the next is with the session and not in line. Neither settles the sitter.
func TestAMessageThatComesBetweenTwoWaitersIsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, key := bare(), KeyFor("lock", "")
		l, _, part := s.Join(key, deaf)
		cancel, _ := wait(l, true)
		l.Wake() // it asks, and is to ask again when far is over
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

func TestASeatIsUsedAgainByThoseWhoComeLater(t *testing.T) {
	s, key, mint := bare(), KeyFor("lock", ""), minter()
	post := Holder{Gives: true}
	s.Hold(key, &post) // keeps the line
	l, _, part := s.Join(key, deaf)
	_, _, partOther := s.Join(key, deaf)
	p := l.Candidacy.Enqueue(mint)
	require.Nil(t, part(), "another uses it")
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

// since must not be later than the pass, whatever happens between it and the message.
func TestTrustIsCountedFromBeforeThePass(t *testing.T) {
	for name, c := range map[string]struct {
		sit   func(l *Cohort, at int64) // at 100 ms by the server's clock
		since time.Duration             // of a pass 5 s later, when the message has arrived after 3 s more
	}{
		"refused": {func(l *Cohort, at int64) { p := l.Candidacy.Ask(minter()); l.Candidacy.Refused(p, time.Now(), at) }, 5*time.Second - time.Millisecond},
		"refused twice": {func(l *Cohort, at int64) { // the clocks do not run alike
			p := l.Candidacy.Ask(minter())
			l.Candidacy.Refused(p, time.Now().Add(-time.Hour), 1)
			l.Candidacy.Ask(nil)
			l.Candidacy.Refused(p, time.Now(), at)
		}, 5*time.Second - time.Millisecond},
		"by a release that freed it":       {func(l *Cohort, at int64) { p := l.Candidacy.Enqueue(minter()); l.Candidacy.Enqueued(p, true, 0) }, 0},
		"by a release that passed it":      {func(l *Cohort, at int64) { p := l.Candidacy.Enqueue(minter()); l.Candidacy.Enqueued(p, true, at) }, 5*time.Second - time.Millisecond},
		"by one that has no answer so far": {func(l *Cohort, at int64) { l.Candidacy.Enqueue(minter()) }, 0},
		"both": {func(l *Cohort, at int64) {
			p := l.Candidacy.Enqueue(minter())
			l.Candidacy.Ask(nil)
			l.Candidacy.Refused(p, time.Now(), at)
			l.Candidacy.Enqueued(p, true, at)
		}, 5*time.Second - time.Millisecond},
	} {
		for _, late := range []string{"", " and a release of what was lost", " and one that has no answer yet"} {
			t.Run(name+late, func(t *testing.T) {
				inLine(t, func(t *testing.T, l *Cohort, _ func() *Candidate) {
					start := time.Now()
					c.sit(l, 100)
					time.Sleep(5 * time.Second)
					at := int64(5100) // it is passed
					time.Sleep(time.Second)
					if p := l.Candidacy.current; late != "" {
						require.Same(t, p, l.Candidacy.Enqueue(nil))
						if late == " and a release of what was lost" {
							l.Candidacy.Enqueued(p, false, 0)
						}
					}
					time.Sleep(2 * time.Second)
					gift, claim, since := l.HandedTo(l.Candidacy.current.Owner, at)
					require.Equal(t, Claimed, gift)
					require.Equal(t, c.since, since.Sub(start))
					claim.Refuse("somebody")
				})
			})
		}
	}
}

func TestAServersClockThatWasSetGivesNoTrustInTheFuture(t *testing.T) {
	for _, at := range []int64{1, 1 << 50} {
		inLine(t, func(t *testing.T, l *Cohort, _ func() *Candidate) {
			start := time.Now()
			p := l.Candidacy.Ask(minter())
			l.Candidacy.Refused(p, start, 1000)
			time.Sleep(time.Second)
			_, claim, since := l.HandedTo(p.Owner, at)
			require.False(t, since.Before(start))
			require.False(t, since.After(time.Now()))
			claim.Refuse("somebody")
		})
	}
}

// What is counted from it bounds for how long others wait, and the clock on the wall may be set meanwhile.
func TestALineRemembersAMomentOfTheMonotonicClock(t *testing.T) {
	l, since := &Cohort{}, time.Now().Add(-time.Minute)
	require.Zero(t, l.ClosedSince())
	l.CloseSince(since)
	require.Zero(t, l.ClosedSince().Sub(since))
	require.NotEqual(t, l.ClosedSince().Round(0), l.ClosedSince(), "a time of the wall clock alone")
	l.CloseSince(time.Time{})
	require.Zero(t, l.ClosedSince())
}
