package report

import "fmt"

// fairEnough is the Jain index below which speed on one key is not counted.
const fairEnough = 0.9

// Pictures draws what is worth seeing, by file name.
func Pictures(r Results) map[string]string {
	files := map[string]string{}
	draw := func(name, network string, c chart) {
		if len(c.groups) > 0 {
			files[name+"-"+network+".svg"] = r.draw(c)
		}
	}
	for _, network := range r.networks() {
		draw("own-keys", network, ownKeys(r, network))
		draw("one-key", network, oneKey(r, network))
		draw("waits", network, waits(r, network))
		draw("wake-up", network, wakeUp(r, network))
	}
	if c := speed(r); len(c.groups) > 0 {
		files["speed.svg"] = r.draw(c)
	}
	return files
}

// draw draws a chart. Its title says so if the figures are provisional.
func (r Results) draw(c chart) string {
	if r.busy() {
		c.title += " (provisional: busy machine)"
	}
	return c.svg()
}

// speed is the picture of the README, for readers that know nothing yet. It has the everyday case first, and only locks.
func speed(r Results) chart {
	c := chart{
		title: "Taking a lock and giving it back",
		subtitle: "how often, compared with two plain Redis commands (the line at 1); further right is faster; " +
			"each step is ten times the one before",
		mark: 1, log: true,
	}
	for _, s := range []struct{ scenario, title string }{
		{"own/1", "Everybody has a lock of their own: 1 caller"},
		{"own/16", "Everybody has a lock of their own: 16 callers"},
		{"own/128", "Everybody has a lock of their own: 128 callers"},
		{"hot/16", "All want the same lock: 16 callers (hollow: some got far less than others)"},
		{"hot/4x8", "All want the same lock: 4 processes of 8 callers (hollow: some got far less than others)"},
	} {
		var rows []Row
		for _, row := range r.Rows {
			if !row.Primitive && row.Scenario == s.scenario && row.Network == "loopback" && r.class(row) != "reference" {
				row.Title = s.title
				rows = append(rows, row)
			}
		}
		c.groups = append(c.groups, groups(r, rows, func(row Row) bar {
			b := relative(row)
			b.hatched = row.Group == "one" && row.Jain < fairEnough
			b.text = brief(b.value)
			return b
		})...)
	}
	return c
}

func ownKeys(r Results, network string) chart {
	return chart{
		title:    "Own keys: taking and giving back, " + network,
		subtitle: "times the pairs per second of two bare go-redis EVALSHA; more is better; pale bars are no locks",
		mark:     1,
		groups: groups(r, r.rows("own", network), func(row Row) bar {
			b := relative(row)
			b.text = short(b.value)
			return b
		}),
	}
}

func oneKey(r Results, network string) chart {
	return chart{
		title:    "One key: sections per second, " + network,
		subtitle: "times those of a local queue with bare EVALSHA and pub/sub; more is better; hollow bars are unfair (Jain below 0.9)",
		mark:     1,
		log:      true,
		groups: groups(r, r.rows("one", network), func(row Row) bar {
			b := relative(row)
			b.hatched = row.Jain < fairEnough
			b.text = fmt.Sprintf("%s, Jain %s", short(b.value), short(row.Jain))
			return b
		}),
	}
}

// brief writes a value with as many digits as a logarithmic axis can show.
func brief(v float64) string {
	switch {
	case v >= 10:
		return count(v)
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return short(v)
}

// relative draws the ratio. The floor's is 1 by definition, and its spread is the noise.
func relative(row Row) bar {
	b := bar{value: row.Ratio.Median, low: row.Ratio.Q1, high: row.Ratio.Q3}
	if row.Floor {
		b.value = 1
	}
	return b
}

func waits(r Results, network string) chart {
	return chart{
		title:    "One key: how long the slowest wait, " + network,
		subtitle: "99th percentile of the waits in milliseconds; less is better",
		groups: groups(r, r.rows("one", network), func(row Row) bar {
			return bar{value: row.WaitP99 / 1e3, text: millis(row.WaitP99) + " ms"}
		}),
	}
}

func wakeUp(r Results, network string) chart {
	return chart{
		title:    "Waking a waiter of another client, " + network,
		subtitle: "from the call that gives back to the return of the one that takes, in milliseconds; less is better",
		groups: groups(r, r.rows("wake", network), func(row Row) bar {
			return bar{value: row.WaitP50 / 1e3, text: millis(row.WaitP50) + " ms"}
		}),
	}
}

// groups makes one of each scenario: redlatch first, then its peers, then what is no lock.
func groups(r Results, rows []Row, draw func(Row) bar) (all []group) {
	for _, title := range titles(rows) {
		g := group{title: title}
		for _, class := range []string{"ours", "peer", "reference"} {
			for _, name := range r.of(rows) {
				row, ok := find(rows, title, name)
				if !ok || r.class(row) != class {
					continue
				}
				b := draw(row)
				b.label, b.class = name, class
				g.bars = append(g.bars, b)
			}
		}
		all = append(all, g)
	}
	return all
}

func (r Results) class(row Row) string {
	switch {
	case row.Library == Ours:
		return "ours"
	case row.Floor || !r.lock(row.Library):
		return "reference"
	}
	return "peer"
}
