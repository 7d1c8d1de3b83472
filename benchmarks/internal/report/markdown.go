package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redlatch/redlatch/benchmarks/internal/stats"
)

// Text is the tables of both parts, as far as they were run.
func Text(r Results) (text string) {
	if libraries := r.part(false); libraries.found() {
		text = Markdown(libraries)
	}
	if primitives := r.part(true); primitives.found() {
		text += Primitives(primitives)
	}
	return text
}

// Markdown writes the tables of the comparison with other libraries.
func Markdown(r Results) string {
	var w text
	heading(&w, r, "Results")
	w.line("\n[Every primitive of redlatch](primitives.md) has a page of its own.")
	glance(&w, r)
	for _, network := range r.networks() {
		own(&w, r, network)
		one(&w, r, network)
		wake(&w, r, network)
	}
	idle(&w, r)
	if len(r.Libraries) > 0 {
		w.line("\n## Who took part\n")
		for _, l := range r.Libraries {
			w.line("- **%s**: %s.", l.Name, l.Note)
		}
	}
	return w.String()
}

// heading says how the figures came about.
func heading(w *text, r Results, title string) {
	w.line("<!-- Written by the benchmarks; see ../performance.md for what each figure means. -->")
	w.line("# %s", title)
	w.line("")
	w.line("```\n%s\n```", r.Command)
	w.line("")
	w.line("%s, on %s. %s.", r.Date, r.Machine, versions(r))
	w.line("Medians of %d rounds with the quartiles in brackets; the shortest block is %s. Round trip of a `PING`: %s.",
		r.Rounds, r.Block, roundTrips(r))
	if r.busy() {
		w.line("\n**Provisional: the machine was busy with other work.** It took %.1f of the cores in a second before the run, or after it.", r.Busy)
	}
	for _, left := range r.Left {
		w.line("Left out: %s.", left)
	}
}

// quiet is the number of cores that may do other work before the figures are called provisional.
const quiet = 0.2

// busy tells whether the machine did other work.
func (r Results) busy() bool { return r.Busy > quiet }

type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

func (t *text) row(cells ...string) { t.line("| %s |", strings.Join(cells, " | ")) }

func (t *text) head(cells ...string) {
	t.row(cells...)
	t.line("|%s", strings.Repeat("---|", len(cells)))
}

func own(w *text, r Results, network string) {
	rows := r.rows("own", network)
	if len(rows) == 0 {
		return
	}
	w.line("\n## Own keys, %s\n", network)
	w.line("Pairs of taking and giving back, as a multiple of what two bare EVALSHA of go-redis do at the same time. More is better.\n")
	w.head(append([]string{""}, titles(rows)...)...)
	for _, name := range r.of(rows) {
		cells := []string{label(name)}
		for _, title := range titles(rows) {
			row, ok := find(rows, title, name)
			cells = append(cells, cell(ok, func() string { return ratio(row) }))
		}
		w.row(cells...)
	}
	w.line("\nWhat a pair costs:\n")
	w.head("", "callers", "pairs/s", "commands", "bytes to the server", "bytes back", "allocations", "p50 ms to take", "p99 ms to take")
	for _, row := range sorted(r, rows) {
		w.row(label(row.Library), row.Title, count(row.Value.Median), fmt.Sprintf("%.2f", row.Commands), count(row.In), count(row.Out),
			allocs(row), millis(row.WaitP50), millis(row.WaitP99))
	}
}

func one(w *text, r Results, network string) {
	rows := r.rows("one", network)
	if len(rows) == 0 {
		return
	}
	w.line("\n## One key, %s\n", network)
	w.line("Sections per second, as a multiple of what a local queue with bare EVALSHA and pub/sub does at the same time. " +
		"Jain's index is 1 when all callers get the same; the smallest share is of the fair one. Speed counts only together with them: " +
		"an empty section rewards a caller that keeps the key to itself.\n")
	for _, title := range titles(rows) {
		first, _ := find(rows, title, rows[0].Library) // the floor takes part in all
		w.line("**%s**, blocks of %s\n", title, first.Block)
		w.head("", "speed", "Jain", "smallest share", "p50 wait ms", "p99 wait ms", "sections/s", "commands per section", "stuck")
		for _, name := range r.of(rows) {
			row, ok := find(rows, title, name)
			if ok {
				w.row(label(name), ratio(row), fmt.Sprintf("%.2f", row.Jain), fmt.Sprintf("%.2f", row.Smallest), millis(row.WaitP50),
					millis(row.WaitP99), count(row.Value.Median), fmt.Sprintf("%.2f", row.Commands), fmt.Sprint(row.Stuck))
			}
		}
		w.line("")
	}
}

func wake(w *text, r Results, network string) {
	rows := r.rows("wake", network)
	if len(rows) == 0 {
		return
	}
	w.line("\n## Waking up, %s\n", network)
	w.line("From the call that gives the key back in one client to the return of the call that takes it in another, as a multiple of " +
		"the same with bare EVALSHA and pub/sub. Less is better.\n")
	w.head("", "time", "p50 ms", "p99 ms")
	for _, row := range sorted(r, rows) {
		w.row(label(row.Library), ratio(row), millis(row.WaitP50), millis(row.WaitP99))
	}
}

func idle(w *text, r Results) {
	if len(r.Waiters) > 0 {
		w.line("\n## Idle waiters\n")
		w.line("%d callers of one client wait for a key that stays taken.\n", r.Waiters[0].Waiters)
		w.head("", "commands per second", "goroutines beside the callers'")
		for _, row := range r.Waiters {
			w.row(label(row.Library), fmt.Sprintf("%.1f", row.Commands), fmt.Sprint(row.Goroutines))
		}
	}
	if len(r.Holds) > 0 {
		w.line("\n## Idle holds\n")
		w.line("%s keys are held by one client. Bytes are of heap and stacks; a handle is what the library wants made before anything "+
			"is held. Commands are those of a third of the lease, when those that renew do so.\n", count(float64(r.Holds[0].Holds)))
		w.head("", "goroutines", "bytes per hold", "bytes per handle", "commands")
		for _, row := range r.Holds {
			commands := "does not renew"
			if row.Renews {
				commands = count(row.Commands)
			}
			w.row(label(row.Library), count(float64(row.Goroutines)), count(row.Bytes), count(row.Handles), commands)
		}
	}
	if len(r.Stalls) > 0 {
		w.line("\n## A cancelled wait while the server is silent\n")
		w.line("From the end of the context to the return of the call. After half a second the server answers again.\n")
		w.head("", "median ms", "worst ms", "not before the server")
		for _, row := range r.Stalls {
			w.row(label(row.Library), fmt.Sprintf("%.1f", row.Median), fmt.Sprintf("%.1f", row.Max), fmt.Sprintf("%d of %d", row.Never, row.Tries))
		}
	}
}

// sorted has the rows by scenario, and the libraries in the run's order.
func sorted(r Results, rows []Row) []Row {
	order, of := titles(rows), r.of(rows)
	return slices.SortedStableFunc(slices.Values(rows), func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.Title), slices.Index(order, b.Title)),
			cmp.Compare(slices.Index(of, a.Library), slices.Index(of, b.Library)))
	})
}

func cell(ok bool, text func() string) string {
	if !ok {
		return "-"
	}
	return text()
}

func label(name string) string {
	if name == Ours {
		return "**" + name + "**"
	}
	return name
}

// ratio shows the floor's as the noise that it is.
func ratio(row Row) string {
	if row.Floor && row.Ratio.N == 0 {
		return "1"
	}
	if row.Floor {
		return "1 (" + spread(row.Ratio) + ")"
	}
	return fmt.Sprintf("%.2f (%s)", row.Ratio.Median, spread(row.Ratio))
}

func spread(s stats.Summary) string { return fmt.Sprintf("%.2f–%.2f", s.Q1, s.Q3) }

func count(v float64) string {
	digits := fmt.Sprintf("%.0f", v)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + " " + digits[i:]
	}
	return digits
}

func allocs(row Row) string {
	if row.Allocs == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", row.Allocs)
}

func millis(us float64) string {
	if us < 10_000 {
		return fmt.Sprintf("%.2f", us/1e3)
	}
	return fmt.Sprintf("%.0f", us/1e3)
}

func versions(r Results) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(r.Versions)) {
		parts = append(parts, name+" "+r.Versions[name])
	}
	return strings.Join(parts, ", ")
}

func roundTrips(r Results) string {
	var parts []string
	for _, name := range slices.SortedFunc(maps.Keys(r.RoundTrip), func(a, b string) int { return cmp.Compare(r.RoundTrip[a], r.RoundTrip[b]) }) {
		parts = append(parts, fmt.Sprintf("%s %.2f ms", name, r.RoundTrip[name]/1e3))
	}
	return strings.Join(parts, ", ")
}
