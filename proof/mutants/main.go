// Command mutants puts defects into the library, one at a time, and tells whether the simulation convicts them: what
// cannot find a defect says nothing when it finds none. Defects that the simulation cannot show are for a unit test each. Nothing is copied and no file of the tree is touched; the
// compiler is told to read other texts in the place of some files.
//
//	go -C proof run ./mutants                     # all, each for a minute at most
//	go -C proof run ./mutants -only reader        # those whose names contain it
//	go -C proof run ./mutants -only :             # those that the library has had, each with its commit
//
// It ends with status 1 if one is acquitted, or if its text does not occur exactly once any more.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	only := flag.String("only", "", "try the mutants whose names contain this `text`")
	most := flag.Duration("for", time.Minute, "how long to simulate each at most")
	flag.Parse()
	status := 0
	for _, m := range mutants {
		if !strings.Contains(m.name, *only) {
			continue
		}
		verdict, err := try(m, *most)
		if err != nil {
			verdict, status = err.Error(), 1
		}
		fmt.Printf("%-70s %s\n", m.name, verdict)
	}
	os.Exit(status)
}

// culprit is the plan that convicts: one that is kept, or that of a seed.
var culprit = regexp.MustCompile(`FAIL: TestPlansThatWereConvictedOnce/\S+|seed \d+`)

// try has the mutant's judge look at the library with one defect, and says by what the defect was convicted.
func try(m mutant, most time.Duration) (string, error) {
	folder, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	overlay, err := put(m, folder)
	if err != nil {
		return "", err
	}
	if m.checks == nil {
		return runTest(m.test, overlay)
	}
	program := filepath.Join(folder, "simulation")
	if out, err := exec.Command("go", "test", "-overlay", overlay, "-c", "-o", program, "./internal/sim").CombinedOutput(); err != nil {
		return "", fmt.Errorf("it does not compile: %s", out)
	}
	start := time.Now()
	run := exec.Command(program, "-test.v", "-test.failfast", "-test.run", "^(TestPlansThatWereConvictedOnce|TestSimulation)$", "-test.timeout", "30m", "-for", most.String(),
		"-shrink=false")
	run.Dir, run.Env = "internal/sim", append(os.Environ(), "GOMAXPROCS=1")
	out, err := run.CombinedOutput()
	if err == nil {
		return "", fmt.Errorf("ACQUITTED after %v", time.Since(start).Round(time.Second))
	}
	for _, check := range m.checks {
		if strings.Contains(string(out), ": "+check+": ") || check == model && strings.Contains(string(out), "the judge acquits, and the model does not: ") {
			return fmt.Sprintf("%s, %s after %v", check, path.Base(culprit.FindString(string(out))), time.Since(start).Round(100*time.Millisecond)), nil
		}
	}
	return "", fmt.Errorf("convicted of something else:\n%.2000s", out)
}

// runTest runs a unit test on the changed library. The test has to fail, and must not be missing.
func runTest(t unitTest, overlay string) (string, error) {
	start := time.Now()
	run := exec.Command("go", "test", "-overlay", overlay, "-count=1", "-failfast", "-timeout", "2m", "-v", "-run", "^"+t.name+"$", "./"+t.folder)
	run.Dir = ".."
	out, err := run.CombinedOutput()
	switch {
	case err == nil:
		return "", fmt.Errorf("ACQUITTED by %s", t.name)
	case !strings.Contains(string(out), "--- FAIL: "+t.name) && !strings.Contains(string(out), "panic: test timed out"):
		return "", fmt.Errorf("%s did not fail, and did not pass:\n%.2000s", t.name, out)
	}
	return fmt.Sprintf("%s after %v", t.name, time.Since(start).Round(100*time.Millisecond)), nil
}

// put writes the changed files, and what tells the compiler to read them.
func put(m mutant, folder string) (overlay string, err error) {
	replace := map[string]string{}
	for i, e := range m.edits {
		file, err := filepath.Abs(filepath.Join("..", e.file))
		if err != nil {
			return "", err
		}
		latest := file // or what an earlier edit has made of it
		if replace[file] != "" {
			latest = replace[file]
		}
		text, err := os.ReadFile(latest)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			return "", fmt.Errorf("its text occurs %d times in %s, and should once: bring proof/mutants/table.go up to date", n, e.file)
		}
		replace[file] = filepath.Join(folder, fmt.Sprint(i, filepath.Base(file)))
		if err := os.WriteFile(replace[file], []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o644); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(folder, "overlay.json")
	return overlay, os.WriteFile(overlay, list, 0o644)
}
