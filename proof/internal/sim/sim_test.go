package sim_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/proof/internal/sim"
)

var (
	seed  = flag.Uint64("seed", 0, "run the plan of this seed alone")
	first = flag.Uint64("first", 1, "the first seed")
	seeds = flag.Uint64("seeds", 40, "how many seeds to run")
	less  = flag.Bool("shrink", false, "make a plan that is convicted smaller, and print it")
	file  = flag.String("plan", "", "run the plan in this file")
)

// quiet is what the client library logs through: it reports each failed connection.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	debug.SetGCPercent(800) // miniredis makes an interpreter for each script
	os.Exit(m.Run())
}

// inBubble runs a plan on fake time.
func inBubble(t *testing.T, p sim.Plan, suite sim.Suite) (result sim.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { result = sim.Run(p, suite) })
	return result
}

func TestSimulation(t *testing.T) {
	switch {
	case *file != "":
		text, err := os.ReadFile(*file)
		if err != nil {
			t.Fatal(err)
		}
		var p sim.Plan
		if err := json.Unmarshal(text, &p); err != nil {
			t.Fatal(err)
		}
		one(t, p)
	case *seed != 0:
		one(t, sim.Draw(*seed))
	default:
		start, acts := time.Now(), 0
		for s := *first; s < *first+*seeds; s++ {
			acts += one(t, sim.Draw(s))
		}
		t.Logf("%d seeds, %d operations, %.0f a second", *seeds, acts, float64(acts)/time.Since(start).Seconds())
	}
}

// one runs a plan, and returns how many operations it had.
func one(t *testing.T, p sim.Plan) (acts int) {
	t.Helper()
	result := inBubble(t, p, sim.Library)
	for _, b := range result.Broken {
		t.Errorf("seed %d: broken: %s", p.Seed, b)
	}
	for _, f := range result.Report.Findings {
		t.Errorf("seed %d: %v", p.Seed, f)
	}
	if checks := result.Convicts(); *less && len(checks) > 0 {
		smaller := sim.Shrink(p, 3000, func(p sim.Plan) bool {
			return slices.Contains(inBubble(t, p, sim.Library).Convicts(), checks[0])
		})
		print(t, smaller)
	}
	for _, r := range result.Records {
		if r.What == "call" || r.What == "leave" {
			acts++
		}
	}
	return acts
}

// print shows a plan and what happened in it.
func print(t *testing.T, p sim.Plan) {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the plan, made smaller:\n%s", text)
	result := inBubble(t, p, sim.Library)
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
