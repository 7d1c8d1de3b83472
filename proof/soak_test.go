package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/internal/test/servers"
	"github.com/redlatch/redlatch/proof/internal/judge"
	"github.com/redlatch/redlatch/proof/internal/soak"
	"github.com/redlatch/redlatch/proof/internal/verdict"
)

// A soak starts its own program again for each worker: here this test. All soaks of it run at once, for they wait most of the time.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == soak.Worker {
		os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
	}
	flag.Parse()
	_ = flag.Set("test.parallel", "4") // fails only for want of such a flag
	os.Exit(m.Run())
}

func needsServers(t *testing.T) {
	t.Helper()
	if err := servers.Look(); err != nil {
		if os.Getenv("REDLATCH_REQUIRE_REAL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

// soaked soaks, and returns the status and what is printed.
func soaked(t *testing.T, args ...string) (folder string, status int, printed string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "out")
	var out, errs bytes.Buffer
	status = run(append([]string{"soak", "--out", folder}, args...), &out, &errs)
	if status == wrong {
		t.Fatal(&errs)
	}
	return folder, status, out.String()
}

func TestASoakLeavesAFolderThatIsJudged(t *testing.T) {
	needsServers(t)
	t.Parallel()
	for _, topology := range []string{soak.Single, soak.Sentinel, soak.Cluster} {
		t.Run(topology, func(t *testing.T) {
			t.Parallel()
			folder, status, printed := soaked(t, "--for", "3s", "--seed", "7", "--workers", "2", "--topology", topology)
			v := verdict.Of(folder)
			if v.Verdict == judge.Red { // invalid is a matter of the machine
				t.Errorf("it is red:\n%s", printed)
			}
			for _, why := range v.Why {
				if !strings.Contains(why, "are the least that says something") && !strings.Contains(why, "the calm lane stalls") {
					t.Error(why)
				}
			}
			if v.Counts.Calm == 0 || v.Counts.Faulty == 0 || v.Run.Topology != topology || v.Run.Sources == "" || !strings.Contains(v.Run.Server, " ") {
				t.Errorf("%+v %+v", v.Counts, v.Run)
			}
			for _, name := range []string{"main", "calm", "w1", "w2"} {
				if _, err := os.Stat(filepath.Join(folder, name+".jsonl")); err != nil {
					t.Error(err)
				}
			}
			var again bytes.Buffer
			if run([]string{"check", folder}, &again, &again) != status || again.String() != printed {
				t.Errorf("checked again it is\n%s\nand was\n%s", &again, printed)
			}
		})
	}
}

// The control: what is wrong is convicted.
func TestASoakOfANaiveLockIsConvicted(t *testing.T) {
	needsServers(t)
	t.Parallel()
	folder, status, printed := soaked(t, "--for", "9s", "--seed", "3", "--naive")
	if status != 1 {
		t.Fatalf("the status is %d:\n%s", status, printed)
	}
	v := verdict.Of(folder)
	for _, check := range []string{"exclusion", "model"} {
		if !slices.ContainsFunc(v.Findings, func(f verdict.Finding) bool { return f.Check == check }) {
			t.Errorf("it is not convicted of %s:\n%s", check, printed)
		}
	}
	for _, f := range v.Findings {
		if strings.HasPrefix(f.Object, "calm") {
			t.Errorf("the library is convicted: %v", f)
		}
	}
	r := verdict.Merge([]string{folder})
	if r.Verdict == judge.Red {
		t.Error("a control that is convicted makes the report red:", r.Why)
	}
}

func TestAMistakeInASoakIsSaid(t *testing.T) {
	for _, args := range [][]string{
		nil, {"--for", "0s", "--out", "x"}, {"--workers", "0", "--out", "x"}, {"--out", "x", "more"}, {"--dance"},
		{"--topology", "ring", "--out", filepath.Join(t.TempDir(), "x")}, {"--out", t.TempDir()},
	} {
		var out, errs bytes.Buffer
		if status := run(append([]string{"soak"}, args...), &out, &errs); status != wrong || errs.Len() == 0 {
			t.Error(fmt.Sprint(args), status, &errs)
		}
	}
}
