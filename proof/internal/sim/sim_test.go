package sim_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/proof/internal/models"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

var (
	seed  = flag.Uint64("seed", 0, "run the plan of this seed alone")
	first = flag.Uint64("first", 1, "the first seed")
	seeds = flag.Uint64("seeds", 12, "how many seeds to run")
	spend = flag.Duration("for", 0, "run one seed after the other for so long, or until one is convicted")
	times = flag.Int("times", 1, "how often to run each plan; one that is made smaller is run as often, and has to be convicted once")
	less  = flag.Bool("shrink", true, "make the first plan that is convicted smaller, and print it")
	file  = flag.String("plan", "", "run the plan in this file")
)

// quiet is what the client library logs through: it reports each failed connection.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	debug.SetGCPercent(800) // a run makes much garbage, and little of it lives long
	os.Exit(m.Run())
}

// inBubble runs a plan on fake time.
func inBubble(t *testing.T, p sim.Plan, suite sim.Suite) (result sim.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { result = sim.Run(p, suite) })
	return result
}

// verdicts are how many objects the models have said what of.
var verdicts = map[models.Verdict]int{}

func TestSimulation(t *testing.T) {
	switch {
	case *file != "":
		one(t, read(t, *file))
	case *seed != 0:
		one(t, sim.Draw(*seed))
	case *spend > 0:
		start, calls, run := time.Now(), int64(0), uint64(0)
		for ; time.Since(start) < *spend && !t.Failed(); run++ {
			calls += one(t, sim.Draw(*first+run))
		}
		t.Logf("%d seeds from %d on, %d calls of the library, %.0f a second", run, *first, calls, float64(calls)/time.Since(start).Seconds())
	default:
		start, calls := time.Now(), int64(0)
		for s := *first; s < *first+*seeds; s++ {
			calls += one(t, sim.Draw(s))
		}
		t.Logf("%d seeds, %d calls of the library, %.0f a second", *seeds, calls, float64(calls)/time.Since(start).Seconds())
	}
	t.Logf("objects by what their models say: %v", verdicts)
	if n := verdicts[models.Undecided]; n > 3+verdicts[models.Explained]/50 {
		t.Errorf("the models could not decide of %d objects: their budget is too small, or what they try too much", n)
	}
}

// one runs a plan, and returns how many calls of the library it had.
func one(t *testing.T, p sim.Plan) (calls int64) {
	t.Helper()
	for range *times {
		result := inBubble(t, p, sim.Library)
		for _, b := range result.Broken {
			t.Errorf("seed %d: broken: %s", p.Seed, b)
		}
		for _, f := range result.Report.Findings {
			t.Errorf("seed %d: %v", p.Seed, f)
		}
		calls += result.Calls
		said, agreed := agree(t, p, result, true)
		for verdict, n := range said {
			verdicts[verdict] += n
		}
		checks := result.Convicts()
		if len(checks) > 0 || !agreed {
			t.Logf("again: go -C proof test ./internal/sim -run TestSimulation -v -args -seed %d -times 20", p.Seed)
			keep(t, p, result)
		}
		if *less && len(checks) > 0 {
			*less = false // of one
			smaller := sim.Shrink(p, 3000, func(p sim.Plan) bool {
				return slices.Contains(repeat(t, p).Convicts(), checks[0])
			})
			print(t, smaller)
			return calls
		}
	}
	return calls
}

// repeat runs a plan until it is convicted, or as often as was asked for.
func repeat(t *testing.T, p sim.Plan) (result sim.Result) {
	t.Helper()
	for range *times {
		if result = inBubble(t, p, sim.Library); len(result.Convicts()) > 0 {
			break
		}
	}
	return result
}

// keep writes down what a plan that is convicted did, as another run of it may do something else.
func keep(t *testing.T, p sim.Plan, result sim.Result) {
	t.Helper()
	name := filepath.Join(t.ArtifactDir(), fmt.Sprintf("seed%d.json", p.Seed))
	text, err := json.Marshal(map[string]any{"plan": p, "records": result.Records, "findings": result.Report.Findings})
	if err == nil {
		err = os.WriteFile(name, text, 0o644)
	}
	t.Logf("%s (kept with -artifacts): %v", name, err)
}

// print shows a plan and what happened in it.
func print(t *testing.T, p sim.Plan) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the plan, made smaller:\n%s", text)
	result := repeat(t, p)
	for _, r := range result.Records {
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%v %s", time.Duration(r.At), line)
	}
	for _, f := range result.Report.Findings {
		t.Log(f)
	}
}
