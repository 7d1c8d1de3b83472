package sim_test

import (
	"slices"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
	"github.com/redlatch/redlatch/proof/internal/models"
	"github.com/redlatch/redlatch/proof/internal/sim"
)

// modeled are the checks of the judge that the models make as well.
var modeled = []string{"exclusion", "permits", "early latch"}

// agree compares the models with the judge, object by object: the library is convicted by neither of them, and of what
// the judge convicts, the models do. What is not the library a model may convict alone. It returns how many objects each
// verdict was for. One that a model cannot decide has been judged by the judge alone.
func agree(t *testing.T, p sim.Plan, result sim.Result, library bool) (verdicts map[models.Verdict]int, agreed bool) {
	t.Helper()
	h, err := history.Build(result.Records)
	if err != nil {
		t.Fatal(err)
	}
	guilty := map[string]judge.Finding{}
	for _, f := range result.Report.Findings {
		if slices.Contains(modeled, f.Check) {
			guilty[f.Object] = f
		}
	}
	verdicts, agreed = map[models.Verdict]int{}, true
	for _, a := range models.Check(h, sim.Terms, models.Budget) {
		verdicts[a.Verdict]++
		f, convicted := guilty[a.Object]
		switch {
		case library && a.Verdict == models.Convicted && len(result.Report.Findings) == 0:
			agreed = false
			t.Errorf("seed %d: the judge acquits, and the model does not: %v", p.Seed, a)
		case a.Verdict == models.Explained && convicted:
			agreed = false
			t.Errorf("seed %d: the model explains what the judge convicts: %v", p.Seed, f)
		}
	}
	return verdicts, agreed
}
