package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/judge"
	"github.com/redlatch/redlatch/proof/internal/verdict"
)

var update = flag.Bool("update", false, "write down what check prints")

// statuses are the folders of testdata with the status of their verdicts. What is printed is in want.txt of each.
var statuses = map[string]int{
	"green":            0,
	"control":          1,
	"red":              1, // two holders at once
	"answers":          1, // a refusal although it is free, which the models alone see
	"stall":            1,
	"too-little":       2,
	"hole":             2, // a return without a call
	"stall-everywhere": 2, // in the calm lane as well
}

func TestAFolderHasItsVerdict(t *testing.T) {
	for name, want := range statuses {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join("testdata", name)
			var out, errs bytes.Buffer
			if got := run([]string{"check", folder}, &out, &errs); got != want || errs.Len() > 0 {
				t.Errorf("the status is %d and should be %d: %s", got, want, &errs)
			}
			golden := filepath.Join(folder, "want.txt")
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			text, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), text) {
				t.Errorf("it prints\n%s\nand should print\n%s", &out, text)
			}
		})
	}
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range folders {
		if _, known := statuses[f.Name()]; !known {
			t.Errorf("nobody says what %s comes to", f.Name())
		}
	}
}

// The same journals elsewhere come to the same, byte for byte.
func TestAVerdictDependsOnTheFolderAlone(t *testing.T) {
	for name := range statuses {
		from, to := filepath.Join("testdata", name), filepath.Join(t.TempDir(), name)
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatal(err)
		}
		var here, there bytes.Buffer
		run([]string{"check", from}, &here, &here)
		run([]string{"check", to}, &there, &there)
		if !bytes.Equal(here.Bytes(), there.Bytes()) {
			t.Errorf("%s prints\n%s\nand elsewhere\n%s", name, &here, &there)
		}
	}
}

func TestAFolderWithoutARunIsInvalid(t *testing.T) {
	empty := t.TempDir()
	if v := verdict.Of(empty); v.Verdict != judge.Invalid || len(v.Why) == 0 {
		t.Errorf("%+v", v)
	}
	text, err := fs.ReadFile(os.DirFS("testdata/green"), "run.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(empty, "run.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if v := verdict.Of(empty); v.Verdict != judge.Invalid || len(v.Why) == 0 {
		t.Errorf("without journals: %+v", v)
	}
}

func TestAReportMergesVerdicts(t *testing.T) {
	for _, test := range []struct {
		folders []string
		status  int
	}{
		{[]string{"green"}, 0},
		{[]string{"green", "control"}, 0}, // a control has to be convicted
		{[]string{"green", "red", "too-little"}, 1},
		{[]string{"green", "too-little"}, 2},
	} {
		args := []string{"report"}
		for _, name := range test.folders {
			args = append(args, filepath.Join("testdata", name))
		}
		var out, errs bytes.Buffer
		if got := run(args, &out, &errs); got != test.status {
			t.Errorf("%v: the status is %d and should be %d: %s", test.folders, got, test.status, &errs)
		}
		var r verdict.Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range r.Runs {
			names = append(names, one.Folder)
		}
		if !slices.Equal(names, test.folders) || r.Commit != "c0ffee" || r.Sources != "5eed" {
			t.Errorf("%+v", r)
		}
	}
}

func TestAMistakeInTheCommandHasAStatusOfItsOwn(t *testing.T) {
	for _, args := range [][]string{nil, {"check"}, {"check", "a", "b"}, {"report"}, {"dance"}} {
		var out, errs bytes.Buffer
		if got := run(args, &out, &errs); got != wrong || errs.Len() == 0 {
			t.Errorf("%v: %d %s", args, got, &errs)
		}
	}
}
