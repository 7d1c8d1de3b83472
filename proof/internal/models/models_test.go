package models_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/history"
	"github.com/redlatch/redlatch/proof/internal/judge"
	"github.com/redlatch/redlatch/proof/internal/models"
)

var terms = judge.Terms{Slack: 1, HandOn: 3, Window: 5, Undo: 60}

// A trial is a history and the verdict on it. Each line of the history is an operation or an event:
//
//	a1 10-12 exclusive valid=20 leave=21-22 lease=30
//	kill a 40
//
// The first is operation 1 of client a, called at 10 and back at 12 with what it asked for; 10-? has no return. Times are
// nanoseconds.
type trial struct {
	name    string
	verdict models.Verdict
	story   string
}

func try(t *testing.T, object history.Record, trials []trial) {
	t.Helper()
	for _, one := range trials {
		t.Run(one.name, func(t *testing.T) {
			h, err := history.Build(tell(t, object, one.story))
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range models.Check(h, terms, models.Budget) {
				if a.Verdict != one.verdict {
					t.Errorf("%v, and should be %s", a, one.verdict)
				}
			}
		})
	}
}

func tell(t *testing.T, object history.Record, story string) []history.Record {
	t.Helper()
	object.What, object.Object = history.Object, "x"
	records := []history.Record{object}
	number := func(s string) int64 {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		return n
	}
	for line := range strings.Lines(story) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "kill":
			records = append(records, history.Record{What: history.Kill, Client: words[1], At: history.Time(number(words[2]))})
			continue
		case words[0] == "loss":
			records = append(records, history.Record{What: history.Outside, Object: "x", At: history.Time(number(words[1])), Loss: true})
			continue
		case words[0] == "outside":
			records = append(records, history.Record{What: history.Outside, Object: "x", At: history.Time(number(words[1]))})
			continue
		}
		client, op := words[0][:1], number(words[0][1:])
		add := func(what history.What, at string) {
			records = append(records, history.Record{What: what, Client: client, Op: op, At: history.Time(number(at))})
		}
		called, back, _ := strings.Cut(words[1], "-")
		add(history.Call, called)
		call, outcome := &records[len(records)-1], history.Got
		call.Object, call.Mode = "x", history.Mode(words[2])
		var after []func()
		for _, word := range words[3:] {
			key, value, _ := strings.Cut(word, "=")
			switch key {
			case "try":
				call.Try = true
			case "n":
				call.N = number(value)
			case "lease":
				call.Lease = history.Time(number(value))
			case "within":
				call.Within = number(value)
			case "leave":
				from, to, over := strings.Cut(value, "-")
				after = append(after, func() {
					if add(history.Leave, from); over {
						add(history.Left, to)
					}
				})
			case "valid", "told":
				after = append(after, func() { add(history.What(key), value) })
			default:
				outcome = history.What(key)
			}
		}
		if back != "?" {
			add(outcome, back)
		}
		for _, one := range after {
			one()
		}
	}
	return records
}

func TestALock(t *testing.T) {
	try(t, history.Record{Bound: 100}, []trial{
		{"one after the other", models.Explained, `
			a1 10-12 exclusive leave=20-22
			b1 11-21 exclusive leave=30-32`},
		{"the second returns before the first is given back", models.Convicted, `
			a1 10-12 exclusive leave=20-22
			b1 11-19 exclusive leave=30-32`},
		{"the first has ended by itself", models.Explained, `
			a1 10-12 exclusive valid=15 told=40 lease=30
			b1 11-19 exclusive leave=30-32`},
		{"the first was certain one nanosecond too long", models.Convicted, `
			a1 10-12 exclusive valid=20 told=40 lease=30
			b1 11-19 exclusive leave=30-32`},
		{"the first was certain until the second returned", models.Explained, `
			a1 10-12 exclusive valid=19 told=40 lease=30
			b1 11-19 exclusive leave=30-32`},
		{"a re-entry", models.Explained, `
			a1 10-12 exclusive leave=30-32
			a2 15-16 exclusive within=1 leave=20-22
			b1 15-33 exclusive leave=34-35`},
		{"the re-entry is given back, and the first is not", models.Convicted, `
			a1 10-12 exclusive leave=30-32
			a2 15-16 exclusive within=1 leave=20-22
			b1 15-25 exclusive leave=34-35`},
		{"it was given back although another had taken it", models.Convicted, `
			a1 10-12 exclusive leave=30-32
			b1 13-15 exclusive told=16 lease=30
			c1 17-18 exclusive leave=29-30`},
		{"a refusal while it is held", models.Explained, `
			a1 10-12 exclusive leave=30-32
			b1 15-16 exclusive try refused`},
		{"a refusal although it is free", models.Convicted, `
			a1 10-12 exclusive leave=20-22
			b1 25-26 exclusive try refused`},
		{"a refusal while another one waits", models.Explained, `
			a1 10-12 exclusive leave=20-22
			c1 21-27 exclusive leave=30-31
			b1 25-26 exclusive try refused`},
		{"a refusal while the lock is left to outsiders, after a wait", models.Explained, `
			a1 10-12 exclusive leave=20-22
			c1 15-24 exclusive leave=30-31
			b1 40000030-40000031 exclusive try refused`},
		{"a refusal when that is over", models.Convicted, `
			a1 10-12 exclusive leave=20-22
			c1 15-24 exclusive leave=30-31
			b1 40000032-40000033 exclusive try refused`},
		{"a refusal while the lock is left to outsiders, after a wait behind a release that was lost", models.Explained, `
			a1 10-12 exclusive valid=19 told=20 lease=30
			c1 30-45 exclusive leave=50-51
			b1 40000045-40000046 exclusive try refused`},
		{"a refusal where such a lease was over before", models.Convicted, `
			a1 10-12 exclusive valid=19 told=20 lease=30
			c1 70-85 exclusive leave=90-91
			b1 40000045-40000046 exclusive try refused`},
		{"a refusal within the lease of a dead client", models.Explained, `
			a1 10-12 exclusive lease=30
			kill a 20
			b1 49-50 exclusive try refused`},
		{"a refusal after the lease of a dead client", models.Convicted, `
			a1 10-12 exclusive lease=30
			kill a 20
			b1 52-53 exclusive try refused`},
		{"an unknown outcome that has happened, and was undone", models.Explained, `
			a1 10-12 exclusive doubt
			b1 13-40 exclusive leave=41-42`},
		{"an unknown outcome that has not happened", models.Explained, `
			a1 10-12 exclusive leave=20-22
			b1 13-15 exclusive doubt
			a2 23-24 exclusive leave=25-26`},
		{"an unknown outcome while it is held all the time", models.Explained, `
			a1 10-12 exclusive leave=200-201
			b1 13-15 exclusive doubt`},
		{"an unknown outcome excuses nobody else", models.Convicted, `
			a1 10-12 exclusive leave=20-22
			b1 13-15 exclusive doubt
			c1 16-17 exclusive leave=18-19`},
		{"it was taken away", models.Explained, `
			a1 10-12 exclusive valid=19 told=20 lease=30
			outside 15
			b1 16-17 exclusive leave=18-19`},
		{"it was taken away, and given back all the same", models.Explained, `
			a1 10-12 exclusive leave=30-32
			outside 14
			b1 16-17 exclusive leave=18-19`},
		{"a refusal after something was done to it", models.Explained, `
			a1 10-12 exclusive leave=20-22
			outside 24
			b1 25-26 exclusive try refused`},
		{"a refusal while another one waits in vain", models.Explained, `
			a1 10-12 exclusive leave=20-22
			c1 21-40 exclusive refused
			b1 25-26 exclusive try refused`},
		{"a refusal after another one has waited in vain, whose place in a queue may be there", models.Explained, `
			a1 10-12 exclusive leave=20-22
			c1 21-24 exclusive lease=30 refused
			b1 26-27 exclusive try refused`},
		{"a refusal by the context of a hold", models.Explained, `
			a1 10-12 exclusive leave=30-32
			a2 15-16 exclusive within=1 try refused`},
		{"a refusal within the lease of a re-entry that was left behind, and renewed with the first", models.Explained, `
			a1 10-12 exclusive lease=30 leave=90-91
			a2 15-16 exclusive lease=30 within=1 told=20
			b1 120-121 exclusive try refused`},
		{"a refusal after the lease of a re-entry that was left behind", models.Convicted, `
			a1 10-12 exclusive lease=30 leave=90-91
			a2 15-16 exclusive lease=30 within=1 told=20
			b1 123-124 exclusive try refused`},
		{"it was taken away, and believed after the window", models.Convicted, `
			a1 10-12 exclusive valid=21 told=22 lease=30
			outside 15
			b1 16-17 exclusive leave=28-29`},
	})
}

func TestAReadWriteLock(t *testing.T) {
	try(t, history.Record{Bound: 100}, []trial{
		{"readers beside one another", models.Explained, `
			a1 10-12 shared leave=30-32
			b1 13-14 shared leave=20-21
			w1 13-33 exclusive leave=34-35`},
		{"a writer beside a reader", models.Convicted, `
			a1 10-12 shared leave=30-32
			b1 13-14 shared leave=20-21
			w1 13-29 exclusive leave=34-35`},
		{"a reader that was handed on after it was taken away", models.Explained, `
			a1 10-12 shared valid=19 told=20 lease=30
			outside 15
			a2 17-18 shared valid=19 told=20 lease=30
			w1 16-17 exclusive leave=20-21`},
		{"a reader that was handed on when a writer had it", models.Explained, `
			a1 10-12 shared valid=19 told=20 lease=30
			outside 14
			w1 15-16 exclusive leave=20-21
			a2 17-17 shared valid=19 told=20 lease=30`},
		{"a reader that was handed on too long after it was taken away", models.Convicted, `
			a1 10-12 shared valid=19 told=20 lease=30
			outside 15
			a2 18-19 shared valid=19 told=20 lease=30
			w1 16-17 exclusive leave=20-21`},
		{"a reader that was handed on by nobody after it was taken away", models.Convicted, `
			outside 15
			a2 17-18 shared valid=19 told=20 lease=30
			w1 16-17 exclusive leave=20-21`},
		{"a reader that was handed on after it was taken away, and believed after the window", models.Convicted, `
			a1 10-12 shared valid=19 told=20 lease=30
			outside 15
			a2 17-18 shared valid=21 told=22 lease=30
			w1 19-20 exclusive leave=28-29`},
		{"a reader beside a writer", models.Convicted, `
			w1 10-12 exclusive leave=30-32
			a1 13-14 shared leave=33-34`},
		{"a reader within its writer", models.Explained, `
			w1 10-12 exclusive leave=30-32
			w2 13-14 shared within=1 leave=33-34
			a1 13-33 shared leave=35-36`},
		{"a writer is refused by a reader", models.Explained, `
			a1 10-12 shared leave=30-32
			w1 13-14 exclusive try refused`},
		{"a reader is refused by a reader", models.Convicted, `
			a1 10-12 shared leave=30-32
			b1 13-14 shared try refused`},
	})
}

func TestASemaphore(t *testing.T) {
	try(t, history.Record{N: 3, Bound: 100}, []trial{
		{"all that there are", models.Explained, `
			a1 10-12 permits n=2 leave=30-32
			b1 13-14 permits n=1 leave=20-22`},
		{"one more", models.Convicted, `
			a1 10-12 permits n=2 leave=30-32
			b1 13-14 permits n=2 leave=20-22`},
		{"one more, after the server has lost something", models.Unmodeled, `
			a1 10-12 permits n=2 leave=30-32
			loss 13
			b1 13-14 permits n=2 leave=20-22`},
		{"one more, which is given back meanwhile", models.Explained, `
			a1 10-12 permits n=2 leave=13-32
			b1 13-14 permits n=2 leave=20-22`},
		{"some were perhaps added", models.Explained, `
			a1 10-12 permits n=3 leave=30-32
			c1 11-12 add n=1 doubt
			b1 13-14 permits n=1 leave=20-22`},
		{"some were taken away before", models.Convicted, `
			c1 8-9 add n=-1
			a1 11-12 permits n=3 leave=30-32`},
		{"some were taken away in the moment in which a process hands others on", models.Explained, `
			a1 10-12 permits n=3 leave=20-22
			c1 18-19 add n=-2
			b1 18-19 permits n=1 try refused
			a2 19-21 permits n=3 leave=30-32`},
		{"some were taken away a moment before a process hands others on", models.Convicted, `
			a1 10-12 permits n=3 leave=21-22
			c1 18-19 add n=-2
			a2 21-23 permits n=3 leave=30-32`},
		{"a refusal although there are enough", models.Convicted, `
			a1 10-12 permits n=2 leave=30-32
			b1 13-14 permits n=1 try refused`},
		{"a refusal where there are too few", models.Explained, `
			a1 10-12 permits n=2 leave=30-32
			b1 13-14 permits n=2 try refused`},
		{"a refusal while one that is given back has gone to another of its process, and the rest is on its way", models.Explained, `
			c1 10-12 permits n=1 leave=40-41
			a1 10-12 permits n=2 leave=20-24
			a2 19-21 permits n=1 leave=30-31
			b1 22-23 permits n=1 try refused`},
		{"a refusal after the rest is back", models.Convicted, `
			c1 10-12 permits n=1 leave=40-41
			a1 10-12 permits n=2 leave=20-24
			a2 19-21 permits n=1 leave=30-31
			b1 25-26 permits n=1 try refused`},
		{"those that were perhaps given back", models.Explained, `
			a1 10-12 permits n=3 leave=40
			b1 41-42 permits n=1 leave=50-51`},
		{"those that nobody has begun to give back", models.Convicted, `
			a1 10-12 permits n=3 leave=40
			b1 30-31 permits n=1 leave=50-51`},
		{"those of a dead client stay taken", models.Explained, `
			a1 10-12 permits n=3
			kill a 20
			b1 900-901 permits n=1 try refused`},
		{"those of a dead client are granted to another", models.Convicted, `
			a1 10-12 permits n=3
			kill a 20
			b1 30-31 permits n=1`},
	})
}

func TestAPermitSemaphore(t *testing.T) {
	try(t, history.Record{N: 2, Bound: 100}, []trial{
		{"a lease is over", models.Explained, `
			a1 10-12 permits n=2 lease=30 valid=20 told=50
			b1 30-51 permits n=1 lease=30 leave=60-61`},
		{"a lease is certain", models.Convicted, `
			a1 10-12 permits n=2 lease=30 valid=52 told=53
			b1 30-51 permits n=1 lease=30 leave=60-61`},
		{"a refusal within the lease of a dead client", models.Explained, `
			a1 10-12 permits n=2 lease=30
			kill a 20
			b1 50-51 permits n=1 lease=30 try refused`},
		{"a refusal after the lease of a dead client", models.Convicted, `
			a1 10-12 permits n=2 lease=30
			kill a 20
			b1 52-53 permits n=1 lease=30 try refused`},
	})
}

func TestALatch(t *testing.T) {
	try(t, history.Record{N: 2, Bound: 100}, []trial{
		{"it opens with the last", models.Explained, `
			a1 10-12 countdown
			a2 20-22 countdown
			w1 11-20 await`},
		{"it opens before the last", models.Convicted, `
			a1 10-12 countdown
			a2 20-22 countdown
			w1 11-19 await`},
		{"a count that was perhaps made", models.Explained, `
			a1 10-12 countdown
			a2 20-22 countdown doubt
			w1 11-30 await`},
		{"a count that was not made", models.Convicted, `
			a1 10-12 countdown
			a2 20-22 countdown failed
			w1 11-30 await`},
		{"a wait that ends while it is closed", models.Explained, `
			a1 10-12 countdown
			a2 20-22 countdown
			w1 22-25 await refused`},
		{"a wait that ends although it is open", models.Convicted, `
			a1 10-12 countdown
			a2 20-22 countdown
			w1 23-25 await refused`},
	})
}

func TestWhatIsTooLongOrTooHard(t *testing.T) {
	var many, crowd, knot strings.Builder
	for i := range 5001 {
		fmt.Fprintf(&many, "a%d %d-%d exclusive leave=%d-%d\n", i+1, 10*i, 10*i+1, 10*i+2, 10*i+3)
	}
	for i := range 17 {
		fmt.Fprintf(&crowd, "%c1 %d-%d exclusive leave=%d-%d\n", 'a'+i, 10*i, 10*i+1, 10*i+2, 10*i+3)
	}
	for i := range 12 { // which of them have happened, and when
		fmt.Fprintf(&knot, "%c1 10-20 exclusive doubt\n", 'c'+i)
	}
	knot.WriteString("a1 30-40 exclusive leave=50-51\nb1 31-41 exclusive leave=52-53")
	try(t, history.Record{}, []trial{
		{"too many operations", models.Long, many.String()},
		{"one less is enough", models.Explained, many.String()[:strings.LastIndex(strings.TrimSpace(many.String()), "\n")]},
		{"too many clients", models.Long, crowd.String()},
		{"none at all", models.Unmodeled, ""},
		{"a refusal of what is held together with others", models.Explained, `
			a1 10-12 exclusive leave=20-22
			b1 25-26 exclusive try refused`},
		{"a guard", models.Unmodeled, "a1 10-11 write"},
	})
	h, err := history.Build(tell(t, history.Record{}, knot.String()))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if a := models.Check(h, terms, 1000)[0]; a.Verdict != models.Undecided {
			t.Error(a)
		}
	}
}
