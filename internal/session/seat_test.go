package session

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/waiting"
)

// far is a time that does not come.
const far = 1000 * time.Hour

// bare is a session that nobody needs a client for.
func bare() *Session { return &Session{lines: map[LineKey]*Line{}, posts: map[place]*Post{}} }

// minter mints owners by number.
func minter() func() string {
	n := 0
	return func() string { n++; return fmt.Sprint("me:", n) }
}

// wait has somebody wait in line who can be given the lock, if able, until the test cancels. It returns when he does.
func wait(l *Line, able bool) (cancel context.CancelFunc, offer *waiting.Offer) {
	ctx, cancel := context.WithCancel(context.Background())
	offer = &waiting.Offer{Who: "somebody", Expected: true, Poll: far}
	given := offer
	if !able {
		given = nil
	}
	go func() {
		_ = l.WaitFor(ctx, 0, given, func(context.Context) (waiting.Verdict, error) { return waiting.Verdict{Sleep: far}, nil })
	}()
	synctest.Wait()
	return cancel, offer
}

// inLine runs a test on a line with one who waits and can be given the lock.
func inLine(t *testing.T, run func(t *testing.T, l *Line, part func() *Sitter)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, _, part := bare().JoinRow(LineFor("lock", ""), Ears{})
		cancel, _ := wait(l, true)
		defer l.Stop()
		defer cancel()
		run(t, l, part)
	})
}

// Each row is one way through the diagram: what is done with the first sitter, what becomes of the messages, and whether
// it has to be settled by the last step, by an earlier one, or when everybody has left.
func TestASitterIsSettledByItsLastEndUnlessItHolds(t *testing.T) {
	type step func(s *Seat, p *Sitter) (settle bool)
	now := time.Now()
	mint := minter()
	var (
		ask     step = func(s *Seat, p *Sitter) bool { return s.Ask(mint) != p }
		refused step = func(s *Seat, p *Sitter) bool { return s.Refused(p, now, 7) }
		noRow   step = func(s *Seat, p *Sitter) bool { return s.Refused(p, now, 0) }
		unsent  step = func(s *Seat, p *Sitter) bool { return s.Unsent(p) }
		won     step = func(s *Seat, p *Sitter) bool { s.Won(p); return false }
		failed  step = func(s *Seat, p *Sitter) bool { s.Failed(p); return false } // for the caller to settle
		sitDown step = func(s *Seat, p *Sitter) bool { return s.SitDown(mint) != p }
		sat     step = func(s *Seat, p *Sitter) bool { return s.Sat(p, true, 0) }
		passed  step = func(s *Seat, p *Sitter) bool { return s.Sat(p, true, 9) }
		unsat   step = func(s *Seat, p *Sitter) bool { return s.Sat(p, false, 0) }
		lost    step = func(s *Seat, p *Sitter) bool { return s.Lost(p) }
		leave   step = func(s *Seat, p *Sitter) bool { return s.leave() == p }
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
			var s Seat
			p := s.Ask(mint)
			for i, step := range row.steps[1:] { // the first is always ask
				last := i == len(row.steps)-2
				require.Equal(t, last && row.settle, step(&s, p), "step %d of %d", i+2, len(row.steps))
			}
			require.Equal(t, row.doubt, s.Doubt(p))
		})
	}
}

func TestAMessageIsBelievedOnlyByWhoIsNotAsking(t *testing.T) {
	inLine(t, func(t *testing.T, l *Line, part func() *Sitter) {
		mint := minter()
		given := func(owner string) Gift {
			gift, claim, _ := l.Given(owner, 8)
			if gift == Claimed {
				claim.Refuse("somebody")
				synctest.Wait()
			}
			return gift
		}
		require.Equal(t, Ignored, given("me:1"), "there is no sitter")
		p := l.Seat.Ask(mint)
		require.Equal(t, Ignored, given(p.Owner), "it asks")
		require.False(t, l.Seat.Refused(p, time.Now(), 7))
		require.Equal(t, Ignored, given("me:77"), "another's")
		require.Equal(t, Claimed, given(p.Owner))
		require.Equal(t, Ignored, given(p.Owner), "twice")
		require.False(t, l.Seat.Sat(p, true, 0), "it holds")

		q := l.Seat.Ask(mint)
		require.NotEqual(t, p.Owner, q.Owner)
		l.Seat.Failed(q)
		require.Equal(t, Ignored, given(q.Owner), "whoever settles gives it back")

		r := l.Seat.SitDown(mint)
		require.Equal(t, Claimed, given(r.Owner), "before the release is answered")
		require.False(t, l.Seat.Sat(r, true, 5))

		require.Nil(t, part())
	})
}

// A message that is not believed has the line ask once more: the answer to the ask under way may be older than it.
func TestAMessageThatIsNotBelievedWakesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := bare().JoinRow(LineFor("lock", ""), Ears{})
		defer l.Stop()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		attempts := 0
		go func() {
			_ = l.WaitFor(ctx, 0, &waiting.Offer{Expected: true, Poll: far}, func(context.Context) (waiting.Verdict, error) {
				attempts++
				return waiting.Verdict{Sleep: far}, nil
			})
		}()
		synctest.Wait()
		require.Zero(t, attempts)
		p := l.Seat.Ask(minter())
		gift, _, _ := l.Given(p.Owner, 8)
		require.Equal(t, Ignored, gift)
		synctest.Wait()
		require.Equal(t, 1, attempts)
	})
}

func TestAMessageForWhomNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mint := minter()
		l, _, part := bare().JoinRow(LineFor("lock", ""), Ears{})
		defer l.Stop()
		p := l.Seat.Ask(mint)
		l.Seat.Refused(p, time.Now(), 7)
		gift, _, _ := l.Given(p.Owner, 8)
		require.Equal(t, Ignored, gift, "whoever parts gives it back")
		cancel, _ := wait(l, false)
		gift, _, _ = l.Given(p.Owner, 8)
		require.Equal(t, Declined, gift, "whoever waits cannot be given it")
		cancel()
		require.Nil(t, part(), "it was declined")

		q := l.Seat.SitDown(mint)
		require.Nil(t, q, "nobody uses the seat: nobody would settle it")
	})
}

// One has left the line and not the session, and the next is with the session and not in line. Neither settles the sitter.
func TestAMessageThatComesBetweenTwoWaitersIsForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, key := bare(), LineFor("lock", "")
		l, _, part := s.JoinRow(key, Ears{})
		cancel, _ := wait(l, true)
		l.Wake() // it asks, and is to ask again when far is over
		synctest.Wait()
		p := l.Seat.Ask(minter())
		l.Seat.Refused(p, time.Now(), 7)
		cancel()
		synctest.Wait()
		_, _, partNext := s.JoinRow(key, Ears{})
		gift, _, _ := l.Given(p.Owner, 8)
		require.Equal(t, Ignored, gift)
		require.Nil(t, part())
		start := time.Now()
		require.NoError(t, l.WaitFor(t.Context(), 0, &waiting.Offer{Poll: far}, func(context.Context) (waiting.Verdict, error) {
			return waiting.Verdict{Done: true}, nil
		}))
		require.Zero(t, time.Since(start))
		require.Same(t, p, partNext())
	})
}

func TestASeatIsUsedAgainByThoseWhoComeLater(t *testing.T) {
	s, key, mint := bare(), LineFor("lock", ""), minter()
	post := Post{Gives: true}
	s.Hold(key, &post) // keeps the line
	l, _, part := s.JoinRow(key, Ears{})
	_, _, partOther := s.JoinRow(key, Ears{})
	p := l.Seat.SitDown(mint)
	require.Nil(t, part(), "another uses it")
	require.Nil(t, partOther(), "the release is under way")
	require.Nil(t, l.Seat.SitDown(mint))
	again, _, part := s.JoinRow(key, Ears{})
	require.Same(t, l, again)
	q := l.Seat.SitDown(mint)
	require.NotEqual(t, p.Owner, q.Owner)
	require.True(t, l.Seat.Sat(p, true, 0))
	require.False(t, l.Seat.Sat(q, true, 0))
	require.Same(t, q, part())
}

// since must not be later than the pass, whatever happens between it and the message.
func TestTrustIsCountedFromBeforeThePass(t *testing.T) {
	for name, c := range map[string]struct {
		sit   func(l *Line, at int64) // at 100 ms by the server's clock
		since time.Duration           // of a pass 5 s later, when the message has arrived after 3 s more
	}{
		"refused": {func(l *Line, at int64) { p := l.Seat.Ask(minter()); l.Seat.Refused(p, time.Now(), at) }, 5*time.Second - time.Millisecond},
		"refused twice": {func(l *Line, at int64) { // the clocks do not run alike
			p := l.Seat.Ask(minter())
			l.Seat.Refused(p, time.Now().Add(-time.Hour), 1)
			l.Seat.Ask(nil)
			l.Seat.Refused(p, time.Now(), at)
		}, 5*time.Second - time.Millisecond},
		"by a release that freed it":       {func(l *Line, at int64) { p := l.Seat.SitDown(minter()); l.Seat.Sat(p, true, 0) }, 0},
		"by a release that passed it":      {func(l *Line, at int64) { p := l.Seat.SitDown(minter()); l.Seat.Sat(p, true, at) }, 5*time.Second - time.Millisecond},
		"by one that has no answer so far": {func(l *Line, at int64) { l.Seat.SitDown(minter()) }, 0},
		"both": {func(l *Line, at int64) {
			p := l.Seat.SitDown(minter())
			l.Seat.Ask(nil)
			l.Seat.Refused(p, time.Now(), at)
			l.Seat.Sat(p, true, at)
		}, 5*time.Second - time.Millisecond},
	} {
		for _, late := range []string{"", " and a release of what was lost", " and one that has no answer yet"} {
			t.Run(name+late, func(t *testing.T) {
				inLine(t, func(t *testing.T, l *Line, _ func() *Sitter) {
					start := time.Now()
					c.sit(l, 100)
					time.Sleep(5 * time.Second)
					at := int64(5100) // it is passed
					time.Sleep(time.Second)
					if p := l.Seat.current; late != "" {
						require.Same(t, p, l.Seat.SitDown(nil))
						if late == " and a release of what was lost" {
							l.Seat.Sat(p, false, 0)
						}
					}
					time.Sleep(2 * time.Second)
					gift, claim, since := l.Given(l.Seat.current.Owner, at)
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
		inLine(t, func(t *testing.T, l *Line, _ func() *Sitter) {
			start := time.Now()
			p := l.Seat.Ask(minter())
			l.Seat.Refused(p, start, 1000)
			time.Sleep(time.Second)
			_, claim, since := l.Given(p.Owner, at)
			require.False(t, since.Before(start))
			require.False(t, since.After(time.Now()))
			claim.Refuse("somebody")
		})
	}
}

// What is counted from it bounds for how long others wait, and the clock on the wall may be set meanwhile.
func TestALineRemembersAMomentOfTheMonotonicClock(t *testing.T) {
	l, since := &Line{}, time.Now().Add(-time.Minute)
	require.Zero(t, l.ShutSince())
	l.Shut(since)
	require.Zero(t, l.ShutSince().Sub(since))
	require.NotEqual(t, l.ShutSince().Round(0), l.ShutSince(), "a time of the wall clock alone")
	l.Shut(time.Time{})
	require.Zero(t, l.ShutSince())
}
