package demo

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// script reads a journal in short form: "kind worker [job attempt]", one entry a line, a second apart.
func script(t *testing.T, text string) []entry {
	t.Helper()
	var journal []entry
	for line := range strings.Lines(strings.TrimSpace(text)) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		number := func(i int) int {
			if i >= len(words) {
				return 0
			}
			n, err := strconv.Atoi(words[i])
			require.NoError(t, err, line)
			return n
		}
		e := entry{kind: kind(words[0]), worker: number(1), ms: int64(1000 * len(journal))}
		switch e.kind {
		case enter, exit:
			if len(words) > 2 {
				e.found = words[2]
			}
		case end:
			e.job, e.attempt, e.saw, e.ran = number(2), number(3), int64(number(4)), true
		default:
			e.job, e.attempt = number(2), number(3)
		}
		journal = append(journal, e)
	}
	return journal
}

// proper is one job done by one worker.
const proper = `
	opening 0
	started 1
	enter 1
	taken 1 1 1
	exit 1
	begin 1 1 1
	end 1 1 1 1
	enter 1
	finished 1 1 1
	exit 1
	bye 1`

func one() (*Config, remains) {
	c := &Config{Workers: 1, Jobs: 1, Permits: 1}
	return c, remains{ledger: ledger{Updates: 2}, permits: 1, opened: true}
}

func failing(checks []Check) (names []string) {
	for _, c := range checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestAProperJournalPasses(t *testing.T) {
	c, r := one()
	checks, n := judge(c, replay(script(t, proper)), r)
	require.Empty(t, failing(checks))
	require.Equal(t, 1, n.JobsDone)
	require.Equal(t, 2, n.CriticalSections)
}

func TestEachBreachFailsItsCheck(t *testing.T) {
	tests := []struct {
		breach  string
		journal string
		change  func(*Config, *remains)
		check   string
	}{
		{"a job is recorded twice", proper + "\nenter 1\nfinished 1 1 1\nexit 1",
			func(_ *Config, r *remains) { r.ledger.Updates++ }, "every job done exactly once"},
		{"a job is never recorded", strings.Replace(proper, "finished 1 1 1", "", 1),
			func(_ *Config, r *remains) { r.ledger.Updates-- }, "every job done exactly once"},
		{"a job is recorded by somebody else", strings.Replace(proper, "taken 1 1 1", "taken 1 1 2", 1), nil,
			"every job done exactly once"},
		{"the ledger lost an update", proper, func(_ *Config, r *remains) { r.ledger.Updates-- }, "no update of the ledger lost"},
		{"somebody enters while another works", strings.Replace(proper, "taken 1", "enter 2\ntaken 1", 1) + "\nexit 2", nil,
			"one at a time under the lock"},
		{"somebody enters while another is inside", strings.Replace(proper, "taken 1 1 1\n\texit 1\n", "taken 1 1 1\n\tenter 2\n\texit 2\n", 1), nil,
			"one at a time under the lock"},
		{"somebody works without having entered", proper + "\ndisowned 1", nil, "one at a time under the lock"},
		{"a mark is gone on leaving", strings.Replace(proper, "exit 1", "exit 1 2:1", 1), nil, "one at a time under the lock"},
		{"a mark of the living is found on entering", strings.Replace(proper, "enter 1", "enter 1 2:1", 1), nil,
			"one at a time under the lock"},
		{"too many inside by the order of the journal", proper + "\nbegin 1\nbegin 2\nend 1\nend 2", nil, "at most 1 in the semaphore"},
		{"too many inside by the answer of INCR", strings.Replace(proper, "end 1 1 1 1", "end 1 1 1 2", 1), nil, "at most 1 in the semaphore"},
		{"somebody counts as inside at the end", proper, func(_ *Config, r *remains) { r.inside = 1 }, "at most 1 in the semaphore"},
		{"a permit is missing", proper, func(_ *Config, r *remains) { r.permits = 0 }, "all permits given back"},
		{"a permit is too many", proper, func(_ *Config, r *remains) { r.permits = 2 }, "all permits given back"},
		{"somebody starts early", strings.Replace(proper, "opening 0", "", 1), nil, "all started together"},
		{"somebody does not start", proper, func(c *Config, _ *remains) { c.Workers = 2 }, "all started together"},
		{"the latch stays closed", proper, func(_ *Config, r *remains) { r.opened, r.count = false, 1 }, "the finish latch opened"},
		{"nobody is killed", proper, func(c *Config, _ *remains) { c.Kill = true }, "a dead holder is replaced"},
	}
	for _, test := range tests {
		t.Run(test.breach, func(t *testing.T) {
			c, r := one()
			if test.change != nil {
				test.change(c, &r)
			}
			checks, _ := judge(c, replay(script(t, test.journal)), r)
			require.Equal(t, []string{test.check}, failing(checks))
		})
	}
}

func TestWhatTheDeadLeaveBehindIsExcused(t *testing.T) {
	const killed = `
		opening 0
		started 1
		started 2
		enter 1
		taken 1 1 1
		standing 1
		killing 1
		died 1
		enter 2 1:1
		taken 2 1 2
		exit 2
		begin 2 1 2
		end 2 1 2 1
		enter 2
		finished 2 1 2
		exit 2`
	c, r := one()
	c.Workers, c.Kill, r.ledger.Updates = 2, true, 3
	checks, n := judge(c, replay(script(t, killed)), r)
	require.Empty(t, failing(checks))
	require.Equal(t, 1, n.Victim)
	require.Equal(t, 1, n.Retaken)
	require.Equal(t, int64(2000), n.TakeoverMS)

	t.Run("but not if they were still alive", func(t *testing.T) {
		journal := strings.NewReplacer("killing 1\n", "", "died 1\n", "").Replace(killed)
		f := replay(script(t, journal))
		require.Len(t, f.overlaps, 2, "by the journal and by the witness key")
	})
	t.Run("nor if the next came too late", func(t *testing.T) {
		journal := strings.Replace(killed, "died 1", strings.Repeat("died 1\n", 8), 1)
		checks, _ := judge(c, replay(script(t, journal)), r)
		require.Equal(t, []string{"a dead holder is replaced"}, failing(checks))
	})
}

func TestAnUnfinishedTakeoverIsToldFromNoKill(t *testing.T) {
	c, r := one()
	c.Workers, c.Kill = 2, true
	detail := func(journal string) string {
		checks, _ := judge(c, replay(script(t, journal)), r)
		return checks[len(checks)-1].Detail
	}
	require.Equal(t, "nobody was killed", detail("enter 1\nexit 1"))
	require.Equal(t, "worker 1 was killed, and nobody has taken over", detail("enter 1\nkilling 1\ndied 1"))
}

func TestALostWorkerIsExcusedWhenItDidNothingMore(t *testing.T) {
	f := replay(script(t, "enter 1\nenter 2 1:1\nexit 2\nlost 1\ndied 1"))
	require.Empty(t, f.overlaps)

	f = replay(script(t, "enter 1\nenter 2 1:1\ntaken 1 1 1\nexit 2\nlost 1\ndied 1"))
	require.Len(t, f.overlaps, 1)
}

func TestADeathBetweenRecordingAndCountingDownIsTold(t *testing.T) {
	journal := strings.Replace(proper, "bye 1", "died 1", 1)
	c, r := one()
	r.opened, r.count = false, 1
	checks, n := judge(c, replay(script(t, journal)), r)
	require.Empty(t, failing(checks))
	require.Equal(t, 1, n.Died)

	r.count = 2 // one death explains one missing count
	checks, _ = judge(c, replay(script(t, journal)), r)
	require.Equal(t, []string{"the finish latch opened"}, failing(checks))
}
