// Command report reads what `go test -json` says and prints what is worth reading: a line for each package, the own
// output of each test that failed, was skipped or never ended, and what could not be built. It ends with status 1 if
// there was any of that, and appends a few lines about each to the file -failures, for the end of the log.
//
//	go test -json ./... 2>&1 | go run ./.ci/report -failures /tmp/failures
//
// A skip is a failure, unless the test is excused by a feature of -lacks: see Needs in internal/test/redistest.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
)

// An event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, ImportPath, Test, Output string
	FailedBuild                               string // why a package failed that was told of already
	Elapsed                                   float64
}

// A test is one of a package, or with the name "" what the package says outside its tests.
type test struct {
	name   string
	result string // the action that ended it, or empty
	lines  []string
}

type report struct {
	show     *regexp.Regexp      // what is printed in any case
	packages map[string][]*test  // those under way
	builds   map[string][]string // what the compiler says
	lacks    []string            // features that the server does not have
	failures []string            // for the end of the log
	passed   int                 // tests and subtests
	excused  int                 // tests that a feature in lacks excuses
}

var (
	// chatter is what testing says of the tests' progress, and go-redis of each connection that a test breaks.
	chatter = regexp.MustCompile(`^=== (RUN|PAUSE|CONT|NAME)|^redis: \S+ \S+ pool\.go:|^(PASS|FAIL)$`)
	// alarm is what may be said in the name of a test that has passed before.
	alarm = regexp.MustCompile(`^(panic:|fatal error:|WARNING: DATA RACE|SIG[A-Z]+:)`)
	// excuse is what redistest says of a test that the server lacks a feature for.
	excuse = regexp.MustCompile(`^\s+\S+\.go:\d+: excused: the server lacks (.+)$`)
	// cause is the first line of an error.
	cause = regexp.MustCompile(alarm.String() + `|^\s+\S+\.go:\d+:|^goleak: |^goroutines outlived`)
	// frame is what testing and testify put around an error.
	frame = regexp.MustCompile(`^\s*((Error Trace:|Test:|--- (FAIL|SKIP)).*)?$`)
)

func main() {
	failures := flag.String("failures", os.DevNull, "append a few lines for each failure to this `file`")
	show := flag.String("show", "^$", "print also lines that match this `expression`")
	lacks := flag.String("lacks", "", "features that the server lacks, with a comma between")
	flag.Parse()
	r := report{show: regexp.MustCompile(*show), lacks: strings.Split(*lacks, ","), packages: map[string][]*test{}, builds: map[string][]string{}}
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if err != nil {
			break
		}
	}
	for name := range r.packages { // go test itself was ended
		r.end(name, "fail", 0, false)
	}
	if r.excused > 0 {
		fmt.Printf("%d excused, for the server lacks %s\n", r.excused, *lacks)
	}
	fmt.Printf("%d tests and subtests passed\n", r.passed)
	file, err := os.OpenFile(*failures, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.WriteString(strings.Join(r.failures, ""))
	}
	if err != nil {
		fmt.Println(err)
	}
	if err != nil || len(r.failures) > 0 {
		os.Exit(1)
	}
}

func (r *report) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" { // of go itself
		fmt.Print(line)
		if !strings.HasPrefix(line, "go: downloading ") {
			r.failures = append(r.failures, line)
		}
		return
	}
	switch {
	case e.Action == "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], strings.TrimSuffix(e.Output, "\n"))
	case e.Action == "build-fail":
		r.tell("cannot be built: "+e.ImportPath, r.builds[e.ImportPath])
	case e.Action == "output":
		if text := strings.TrimSuffix(e.Output, "\n"); !chatter.MatchString(text) {
			if r.show.MatchString(text) {
				fmt.Println(text)
			}
			t := r.test(e)
			t.lines = append(t.lines, text)
		}
	case e.Action == "run":
		r.test(e)
	case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
		if e.Test == "" {
			r.end(e.Package, e.Action, e.Elapsed, e.FailedBuild != "")
			return
		}
		t := r.test(e)
		t.result = e.Action
		if e.Action == "pass" {
			r.passed++
			if !slices.ContainsFunc(t.lines, alarm.MatchString) {
				t.lines = nil
			}
		}
	}
}

func (r *report) test(e event) *test {
	for _, t := range slices.Backward(r.packages[e.Package]) {
		if t.name == e.Test {
			return t
		}
	}
	t := &test{name: e.Test}
	r.packages[e.Package] = append(r.packages[e.Package], t)
	return t
}

// end reports a package. With several failing tests of which one is part of the other, the smaller one is told of,
// unless the larger one has something of its own to say.
func (r *report) end(name, result string, seconds float64, unbuilt bool) {
	tests := r.packages[name]
	delete(r.packages, name)
	fmt.Printf("%-4s  %-60s  %6.1f s\n", result, name, seconds)
	told := len(r.failures)
	var outside []string
	for _, t := range tests {
		switch {
		case t.name == "":
			outside = t.lines
			if slices.Contains(t.lines, "testing: warning: no tests to run") {
				r.tell("no test has such a name: "+name, t.lines)
			}
		case t.result == "skip" && r.excuses(t.lines):
			r.excused++
		case t.result == "skip":
			r.tell("skipped, and here all have to run: "+name+" "+t.name, t.lines)
		case t.result == "fail", result == "fail" && (t.result == "" || len(t.lines) > 0):
			part := func(u *test) bool { return strings.HasPrefix(u.name, t.name+"/") && u.result != "pass" }
			if !slices.ContainsFunc(t.lines, cause.MatchString) && slices.ContainsFunc(tests, part) {
				continue
			}
			title := name + " " + t.name
			if t.result == "" {
				title += " (did not end)"
			}
			r.tell(title, t.lines)
		}
	}
	if result == "fail" && !unbuilt && (len(r.failures) == told || slices.ContainsFunc(outside, cause.MatchString)) {
		r.tell(name+", outside its tests", outside)
	}
}

// excuses tells whether a feature is named for want of which a test may be skipped.
func (r *report) excuses(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		found := excuse.FindStringSubmatch(line)
		return found != nil && slices.Contains(r.lacks, found[1])
	})
}

// Of very long output, like that of a time-out with thousands of goroutines, the beginning and the end are printed.
const (
	head = 300
	tail = 100
)

// tell prints what a failing test said, and keeps its first error for the end of the log.
func (r *report) tell(title string, lines []string) {
	fmt.Printf("\n--- %s\n", title)
	if left := len(lines) - head - tail; left > 0 {
		cut := fmt.Sprintf("    [%d lines]", left)
		lines = slices.Concat(lines[:head], []string{cut}, lines[len(lines)-tail:])
	}
	fmt.Println(strings.Join(lines, "\n"))

	first := max(0, slices.IndexFunc(lines, cause.MatchString))
	brief := "--- " + title + "\n"
	for n := 0; first < len(lines) && n < 6; first++ {
		if line := []rune(lines[first]); !frame.MatchString(lines[first]) {
			brief += "    " + strings.TrimSpace(string(line[:min(len(line), 200)])) + "\n"
			n++
		}
	}
	r.failures = append(r.failures, brief)
}
