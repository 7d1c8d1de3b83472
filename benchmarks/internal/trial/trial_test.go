package trial

import (
	"errors"
	"io"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/benchmarks/internal/library"
	"github.com/redlatch/redlatch/benchmarks/internal/load"
	"github.com/redlatch/redlatch/benchmarks/internal/report"
	"github.com/redlatch/redlatch/benchmarks/internal/server"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == load.WorkerRole {
		if err := load.Work(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	redistest.Main(m)
}

func newTrial(t *testing.T, only, libraries string) *Trial {
	srv := redistest.Process(t)
	s, err := server.Use("redis://" + srv.Addr)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	return &Trial{
		Server: s, Rounds: 2, Block: 20 * time.Millisecond, Idle: 200 * time.Millisecond, Holds: 300, Poll: 5 * time.Millisecond,
		Networks: []Network{{Name: "loopback", Addr: srv.Addr}},
		Only:     regexp.MustCompile(only), Libraries: regexp.MustCompile(libraries), Log: io.Discard,
	}
}

// A steady runner does so many pairs per second, in as many blocks as it is asked for.
type steady struct {
	name   string
	rate   func() float64
	blocks *[]string
}

func (s steady) Block(length time.Duration) (load.Block, error) {
	*s.blocks = append(*s.blocks, s.name)
	n := int64(s.rate() * length.Seconds())
	return load.Block{Length: length, Shares: []int64{n}, Done: n}, nil
}

func (s steady) Close() error { return nil }

// A machine that gets slower with every block does not make the library look slow.
func TestEveryBlockStandsBetweenTwoOfTheFloorSoThatDriftCancels(t *testing.T) {
	trial := newTrial(t, "", "")
	var blocks []string
	speed := 1e6
	drifting := func(factor float64) func() float64 {
		return func() float64 { speed *= 0.9; return speed * factor }
	}
	floor := &entrant{name: "floor", runner: steady{"floor", drifting(1), &blocks}}
	double := &entrant{name: "double", runner: steady{"double", drifting(2), &blocks}}
	half := &entrant{name: "half", runner: steady{"half", drifting(0.5), &blocks}}
	s := scenario{group: "own", length: 1}
	require.NoError(t, trial.frame(t.Context(), s, 2, floor, []*entrant{double, half}))
	require.Equal(t, []string{
		"floor", "double", "half", // warm
		"floor", "double", "floor", "half", "floor",
		"floor", "half", "floor", "double", "floor", // backwards
	}, blocks)
	require.InDelta(t, 2.0, double.row(s, "", time.Second).Ratio.Median, 0.03)
	require.InDelta(t, 0.5, half.row(s, "", time.Second).Ratio.Median, 0.01)
	require.InDelta(t, 1.0, floor.row(s, "", time.Second).Ratio.Median, 0.03)
}

func TestAnErrorOfOneLibraryIsToldWithItsName(t *testing.T) {
	trial := newTrial(t, "", "")
	var blocks []string
	fine := steady{"fine", func() float64 { return 1e6 }, &blocks}
	err := trial.frame(t.Context(), scenario{length: 1}, 1, &entrant{name: "floor", runner: fine}, []*entrant{{name: "bad", runner: failing{}}})
	require.EqualError(t, err, "bad: out of order")
}

func TestABlockInWhichTheMachineStoodStillIsRunAgain(t *testing.T) {
	trial := newTrial(t, "", "")
	var blocks []string
	still := 3
	e := &entrant{name: "still", runner: steady{"still", func() float64 {
		if still--; still >= 0 {
			return 0
		}
		return 1e6
	}, &blocks}}
	value, err := trial.block(scenario{}, e, time.Second, server.Usage{})
	require.NoError(t, err)
	require.InDelta(t, 1e6, value, 1)
	require.Len(t, e.values, 1)

	still = 100
	_, err = trial.block(scenario{}, e, time.Second, server.Usage{})
	require.ErrorContains(t, err, "nothing was done")
}

type failing struct{}

func (failing) Block(time.Duration) (load.Block, error) {
	return load.Block{}, errors.New("out of order")
}
func (failing) Close() error { return nil }

func TestEveryKindOfScenarioMakesARowForEachLibrary(t *testing.T) {
	trial := newTrial(t, "^loopback/(own/16|hot/2|hot/4x8|wake)$", "^redlatch$")
	var r report.Results
	require.NoError(t, trial.Run(t.Context(), &r))
	require.Len(t, r.Rows, 8)
	for _, row := range r.Rows {
		require.Positive(t, row.Ratio.Median, row.Scenario+" "+row.Library)
		require.InDelta(t, 2, row.Commands, 3, row.Scenario+" "+row.Library)
		require.Zero(t, row.Stuck)
	}
}

func TestIdleFiguresAreOfWaitersAndHoldsThatAreIdle(t *testing.T) {
	trial := newTrial(t, "waiters|stall", "^(redlatch|redislock)$")
	var r report.Results
	require.NoError(t, trial.Run(t.Context(), &r))
	require.Equal(t, []string{"redlatch", "redislock"}, []string{r.Waiters[0].Library, r.Waiters[1].Library})
	require.Less(t, r.Waiters[0].Commands, 200.0)    // one asks once in a while
	require.Greater(t, r.Waiters[1].Commands, 200.0) // 64 poll every 5 ms
	require.Zero(t, r.Stalls[0].Never)
	require.Equal(t, stallTries, r.Stalls[1].Never)
}

func TestHoldsThatAreRenewedAreCounted(t *testing.T) {
	trial := newTrial(t, "holds", "^rueidislock$")
	var r report.Results
	require.NoError(t, trial.Run(t.Context(), &r))
	require.InDelta(t, trial.Holds, r.Holds[0].Goroutines, 50) // one for each
	require.InDelta(t, trial.Holds, r.Holds[0].Commands, 100)  // and a command of each in every term
}

func TestKeysOfAllLibrariesAreOfOneLength(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range library.All {
		for _, s := range scenarios {
			key := s.key("loopback", l.Name)
			require.Len(t, key, len(prefix)+8)
			require.False(t, seen[key], key)
			seen[key] = true
		}
	}
}
