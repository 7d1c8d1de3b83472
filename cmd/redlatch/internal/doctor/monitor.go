package doctor

import (
	"fmt"
	"strings"
)

// The states of a Nagios plugin are its exit codes.
const (
	MonitorOK       = 0
	MonitorWarning  = 1
	MonitorCritical = 2
	MonitorUnknown  = 3
)

// Monitor is the report as a plugin of Nagios answers: its code, and one line with performance data behind the bar.
func (r *Report) Monitor() (code int, line string) {
	code = map[string]int{string(Error): MonitorCritical, string(Warn): MonitorWarning, Unknown: MonitorUnknown, "ok": MonitorOK}[r.Worst]
	word := []string{"OK", "WARNING", "CRITICAL", "UNKNOWN"}[code]
	var said []string
	for _, f := range r.Findings {
		if f.Result == Found && f.Level != Info || f.Result == Unknown && code == MonitorUnknown {
			text := f.ID
			if len(f.Places) > 0 {
				text += " (" + strings.Trim(f.Places[0].Node+": "+f.Places[0].Detail, ": ") + ")"
			}
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		said = append(said, fmt.Sprintf("%d checks fine", len(r.Fine)))
	}
	return code, MonitorLine(word, strings.Join(said, ", ")) + r.perfdata()
}

// MonitorLine is the first half of the line, which a bar would end.
func MonitorLine(word, text string) string {
	return "REDLATCH " + word + " - " + strings.NewReplacer("|", "/", "\n", " ").Replace(oneLine(text))
}

// perfdata has the thresholds as plugins write them: the largest value that is fine.
func (r *Report) perfdata() string {
	data := fmt.Sprintf(" | errors=%d;;0;0 warnings=%d;0;;0 unknown=%d;;;0", r.Counts.Error, r.Counts.Warn, r.Counts.Unknown)
	for _, f := range []struct {
		value *float64
		form  string
	}{{r.Figures.RoundTrip, " rtt_p99=%.2fms;;;0"}, {r.Figures.Memory, " memory=%.1f%%;90;;0;100"}, {r.Figures.Clients, " clients=%.1f%%;90;;0;100"},
		{r.Figures.OldestWait, " oldest_wait=%.0fs;;;0"}, {r.Figures.SilentHolders, " silent_holders=%.0f;;;0"}} {
		if f.value != nil {
			data += fmt.Sprintf(f.form, *f.value)
		}
	}
	return data
}
