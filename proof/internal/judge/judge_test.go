package judge_test

import (
	"strings"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
)

const second = history.Time(1e9)

var terms = judge.Terms{Slack: second / 10, HandOn: second / 50, Window: 5 * second, Undo: 60 * second}

// A tale is a history as a test tells it. Every call takes a millisecond unless it is told otherwise.
type tale struct {
	records []history.Record
	ops     int64
}

const quick = second / 1000

func (l *tale) add(r history.Record) { l.records = append(l.records, r) }

func tell(object history.Record, parts ...func(*tale)) *tale {
	l := &tale{}
	object.What, object.Object = history.Object, "x"
	l.add(object)
	for _, part := range parts {
		part(l)
	}
	return l
}

// An act is one operation of a test's history. Times of 0 are left out.
type act struct {
	client  string
	mode    history.Mode
	called  history.Time
	back    history.Time // 0: right after the call; never: it did not return
	outcome history.What // empty: it was granted
	valid   history.Time // until when it was certain
	told    history.Time
	lost    history.Time // its release says so
	asks    bool
	least   history.Time
	leave   history.Time // given back right after that
	unsure  bool         // and not known whether
	n       int64
	token   int64
	lease   history.Time
	most    history.Time
	queued  history.Time
	within  int64
	try     bool
	ids     []string // that it was told, at the end
}

const never = -1

func (a act) tell(l *tale) {
	l.ops++
	if a.client == "" {
		a.client = "a"
	}
	if a.mode == "" {
		a.mode = history.Exclusive
	}
	r := history.Record{Client: a.client, Op: l.ops, Object: "x"}
	call := r
	call.What, call.At, call.Mode, call.N, call.Lease, call.Most, call.Within, call.Try = history.Call, a.called, a.mode, a.n, a.lease, a.most, a.within, a.try
	call.Asks, call.Least = a.asks, a.least
	if a.mode == history.Write {
		call.Token = a.token
	}
	l.add(call)
	if a.back == never {
		return
	}
	at := func(what history.What, at history.Time) {
		r := r
		r.What, r.At = what, at
		if what == history.Got {
			r.Queued = a.queued
			if a.mode != history.Write {
				r.Token = a.token
			}
		}
		l.add(r)
	}
	if a.back == 0 {
		a.back = a.called + quick
	}
	if a.outcome == "" {
		a.outcome = history.Got
	}
	at(a.outcome, a.back)
	if a.valid != 0 {
		at(history.Valid, a.valid)
	}
	if a.told != 0 {
		at(history.Told, a.told)
	}
	if a.lost != 0 {
		at(history.Lost, a.lost)
	}
	for _, id := range a.ids {
		l.add(history.Record{What: history.Named, Client: a.client, Op: r.Op, At: a.leave, Text: id})
	}
	if a.leave != 0 {
		at(history.Leave, a.leave)
		if a.unsure {
			at(history.Unsure, a.leave+quick)
		} else {
			at(history.Left, a.leave+quick)
		}
	}
}

// does tells of acts; their operations are numbered from 1 in the order in which the whole tale has them.
func does(acts ...act) func(*tale) {
	return func(l *tale) {
		for _, a := range acts {
			a.tell(l)
		}
	}
}

func event(what history.What, client string, at history.Time) func(*tale) {
	return func(l *tale) { l.add(history.Record{What: what, Client: client, At: at}) }
}

func hears(client string, at history.Time) func(*tale) {
	return func(l *tale) { l.add(history.Record{What: history.Heard, Client: client, Object: "x", At: at}) }
}

func outside(at history.Time) func(*tale) { return outsideIn(0, at) }

func outsideIn(from, to history.Time) func(*tale) {
	return func(l *tale) { l.add(history.Record{What: history.Outside, Object: "x", From: from, At: to}) }
}

// loses tells of a failover that may have lost what was acknowledged.
func loses(from, to history.Time) func(*tale) {
	return func(l *tale) {
		l.add(history.Record{What: history.Outside, Object: "x", From: from, At: to, Loss: true})
	}
}

// late tells of a request that was executed late.
func late(client string, sent, at history.Time) func(*tale) {
	return func(l *tale) {
		l.add(history.Record{What: history.Late, Client: client, Object: "x", From: sent, At: at})
	}
}

func final(n int64, at history.Time) func(*tale) {
	return func(l *tale) { l.add(history.Record{What: history.Final, Object: "x", N: n, At: at}) }
}

// stands is what is found in the end: what these operations have written, one behind the other.
func stands(ops ...int64) func(*tale) {
	return func(l *tale) {
		for _, op := range ops {
			client := "a"
			for _, r := range l.records {
				if r.Op == op && r.Client != "" {
					client = r.Client
				}
			}
			l.add(history.Record{What: history.Stands, Client: client, Op: op, Object: "x", At: 90 * second})
		}
		l.add(history.Record{What: history.Final, Object: "x", N: int64(len(ops)), At: 90 * second})
	}
}

// A trial is one history and the checks that convict it: none is an acquittal.
type trial struct {
	name     string
	tale     *tale
	convicts string // the checks, with blanks between them
}

// try runs the trials. Every check that is named by one of them has to be named by at least two, and acquit two others.
func try(t *testing.T, trials []trial) {
	t.Helper()
	for _, one := range trials {
		t.Run(one.name, func(t *testing.T) {
			t.Helper()
			h, err := history.Build(one.tale.records)
			if err != nil {
				t.Fatal(err)
			}
			report := judge.Judge(h, terms)
			var found []string
			for _, f := range report.Findings {
				if len(found) == 0 || found[len(found)-1] != f.Check {
					found = append(found, f.Check)
				}
			}
			if got := strings.Join(found, ", "); got != one.convicts {
				t.Errorf("convicted of %q and should be of %q: %v", got, one.convicts, report.Findings)
			}
			if want := map[bool]judge.Verdict{true: judge.Green, false: judge.Red}[one.convicts == ""]; report.Verdict != want {
				t.Errorf("the verdict is %s and should be %s", report.Verdict, want)
			}
		})
	}
}

func TestTooLittleIsInvalidAndAFindingIsRedWhateverHappened(t *testing.T) {
	calm := tell(history.Record{}, does(act{called: second, leave: 2 * second}))
	guilty := tell(history.Record{}, does(
		act{client: "a", called: second, valid: 3 * second, leave: 3 * second},
		act{client: "b", called: 2 * second, valid: 3 * second, leave: 3 * second},
	))
	for _, test := range []struct {
		tale  *tale
		terms judge.Terms
		want  judge.Verdict
	}{
		{calm, judge.Terms{Grants: 1}, judge.Green},
		{calm, judge.Terms{Grants: 2}, judge.Invalid},
		{calm, judge.Terms{Grants: 1, PerGrant: 3 * second}, judge.Green},
		{calm, judge.Terms{Grants: 1, PerGrant: second}, judge.Invalid},
		{guilty, judge.Terms{Grants: 1000}, judge.Red},
		{tell(history.Record{}), judge.Terms{Grants: 1}, judge.Invalid},
	} {
		h, err := history.Build(test.tale.records)
		if err != nil {
			t.Fatal(err)
		}
		if got := judge.Judge(h, test.terms); got.Verdict != test.want {
			t.Errorf("%s (%s, %v), want %s", got.Verdict, got.Why, got.Findings, test.want)
		}
	}
}
