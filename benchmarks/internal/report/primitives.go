package report

import (
	"fmt"
	"strings"
)

// Primitives writes the tables of redlatch's own primitives.
func Primitives(r Results) string {
	var w text
	heading(&w, r, "Every primitive")
	own, one, wake := r.primitives("own"), r.primitives("one"), r.primitives("wake")
	alone := func(name string) (Row, bool) { return find(own, "1 caller", name) }
	w.line("\nEach row stands between blocks of the floor, and a ratio is to these. " +
		"Redisson's counterpart, in a Java process beside, has the same floor.")

	if len(one) > 0 {
		w.line("\n## Every primitive, hot\n")
		w.line("All callers want one object and do nothing while they have it. Sections per second, as a multiple of two bare EVALSHA " +
			"behind a local queue; \"alone\" is one caller, beside the two EVALSHA without a queue. More is better. Jain's index is 1 when " +
			"all callers got the same.\n")
		w.primitives(r, one, "alone", alone, func(row Row) string {
			if row.Group == "own" {
				return times(row)
			}
			return fmt.Sprintf("%s, Jain %s%s", times(row), short(row.Jain), stuck(row))
		})
		w.line("\nThe blocks were %s long. Where a caller had less than a few turns in that time, Jain's index is low whoever is next.", lengths(one))
		w.line("\nThe slowest waits, 99th percentile in milliseconds:\n")
		w.primitives(r, one, "alone", alone, func(row Row) string { return millis(row.WaitP99) })
		w.line("\n## What a section costs the server\n")
		w.line("Microseconds that the server works for one section on a hot object, and in brackets the commands that it is sent.\n")
		w.primitives(r, one, "alone", alone, cost)
	}
	if len(own) > 0 {
		none := func(string) (Row, bool) { return Row{}, false }
		w.line("\n## Own keys\n")
		w.line("Every caller has an object of its own. Pairs of taking and giving back, as a multiple of two bare EVALSHA. More is better.\n")
		w.primitives(r, own, "", none, ratio)
		w.line("\nMicroseconds that the server works for a pair, and in brackets the commands that it is sent:\n")
		w.primitives(r, own, "", none, cost)
	}
	if len(wake) > 0 {
		w.line("\n## Waking up\n")
		w.line("From the call that gives back to the return of the call of a waiter that takes, as a multiple of the same " +
			"with bare EVALSHA and pub/sub. Less is better.\n")
		w.head("", "woken", "time", "p50 ms", "p99 ms")
		for _, row := range wake {
			w.row(row.Library, row.Title, ratio(row), millis(row.WaitP50), millis(row.WaitP99))
		}
	}
	w.line("\n## Who took part\n")
	for _, l := range r.Libraries {
		w.line("- **%s**: %s.", l.Name, l.Note)
	}
	return w.String()
}

// primitives writes a table with a line for each primitive and a column for each scenario of rows. If first is not empty,
// that is the title of one more column, before the others, with the rows that alone finds.
func (t *text) primitives(r Results, rows []Row, first string, alone func(name string) (Row, bool), show func(Row) string) {
	head := []string{""}
	if first != "" {
		head = append(head, first)
	}
	t.head(append(head, titles(rows)...)...)
	for _, name := range names(rows) {
		cells := []string{name}
		if first != "" {
			row, ok := alone(name)
			cells = append(cells, cell(ok, func() string { return show(row) }))
		}
		for _, title := range titles(rows) {
			row, ok := find(rows, title, name)
			cells = append(cells, cell(ok, func() string { return show(row) }))
		}
		t.row(cells...)
	}
}

// times is the ratio without its spread, for tables with many columns.
func times(row Row) string {
	if row.Floor {
		return ratio(row)
	}
	return brief(row.Ratio.Median)
}

func lengths(rows []Row) string {
	var all []string
	for _, title := range titles(rows) {
		row, _ := find(rows, title, rows[0].Library)
		all = append(all, fmt.Sprintf("%s (%s)", row.Block, title))
	}
	return strings.Join(all, ", ")
}

func cost(row Row) string { return fmt.Sprintf("%s (%s)", micros(row.Micros), short(row.Commands)) }

func micros(us float64) string {
	if us < 10 {
		return fmt.Sprintf("%.1f", us)
	}
	return count(us)
}

func stuck(row Row) string {
	if row.Stuck == 0 {
		return ""
	}
	return fmt.Sprintf(", %d stuck", row.Stuck)
}

// primitives finds the rows of a group, in the order in which they were measured.
func (r Results) primitives(group string) (found []Row) {
	for _, row := range r.Rows {
		if row.Primitive && row.Group == group {
			found = append(found, row)
		}
	}
	return found
}

// names are the primitives of rows, each once, in order. Redisson's counterpart stands behind its primitive.
func names(rows []Row) (found []string) {
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			found = append(found, name)
		}
	}
	for _, row := range rows {
		if !strings.HasSuffix(row.Library, Counterpart) {
			add(row.Library)
			for _, other := range rows {
				if other.Library == row.Library+Counterpart {
					add(other.Library)
				}
			}
		}
	}
	return found
}

func primitivePictures(r Results) map[string]string {
	files := map[string]string{}
	for name, c := range map[string]chart{"primitives-hot.svg": hot(r), "primitives-server.svg": serverTime(r), "primitives-own.svg": everyday(r)} {
		if len(c.groups) > 0 {
			files[name] = r.draw(c)
		}
	}
	return files
}

// hot draws the scenarios with many callers. One caller alone is only in the table.
func hot(r Results) chart {
	return chart{
		title: "Every primitive, when all want the same object",
		subtitle: "sections per second, times those of two plain commands behind a local queue; each step is ten times the one before; " +
			"hollow: unfair",
		mark: 1, log: true,
		groups: byTitle(r.primitives("one"), []string{"16 callers", "4 processes of 8 callers", "10 clients of 100 callers"}, func(row Row) bar {
			b := relative(row)
			b.hatched = row.Jain < fairEnough
			b.text = fmt.Sprintf("%s, Jain %s%s", brief(b.value), short(row.Jain), stuck(row))
			return b
		}),
	}
}

func everyday(r Results) chart {
	return chart{
		title:    "Every primitive, when everybody has an object of their own",
		subtitle: "times the pairs per second of two plain commands; more is better; each step is ten times the one before",
		mark:     1, log: true,
		groups: byTitle(r.primitives("own"), []string{"1 caller", "16 callers", "128 callers"}, func(row Row) bar {
			b := relative(row)
			b.text = brief(b.value)
			return b
		}),
	}
}

func byTitle(rows []Row, wanted []string, draw func(Row) bar) (all []group) {
	for _, title := range wanted {
		g := group{title: title}
		for _, name := range names(rows) {
			if row, ok := find(rows, title, name); ok && !row.Floor {
				b := draw(row)
				b.label, b.class = name, side(name)
				if b.class == "peer" {
					b.label = "Redisson's" // its counterpart stands right above
				}
				g.bars = append(g.bars, b)
			}
		}
		if len(g.bars) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// serverTime shows how the cost of a section grows with the crowd.
func serverTime(r Results) chart {
	c := chart{
		title:    "What a section costs the server, by the number of callers of one object",
		subtitle: "microseconds of the server's time; less is better; each step is ten times the one before",
		log:      true,
	}
	rows := r.primitives("one")
	for _, name := range names(rows) {
		if side(name) == "peer" {
			continue
		}
		g := group{title: name}
		for _, title := range titles(rows) {
			if row, ok := find(rows, title, name); ok {
				class := side(name)
				if row.Floor {
					class = "reference"
				}
				g.bars = append(g.bars, bar{label: title, value: row.Micros, text: micros(row.Micros) + " µs", class: class})
			}
		}
		c.groups = append(c.groups, g)
	}
	return c
}

func side(name string) string {
	if strings.HasSuffix(name, Counterpart) {
		return "peer"
	}
	return "ours"
}
