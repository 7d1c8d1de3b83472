package views

import (
	"encoding/base64"
	"fmt"
	"math"
	"time"
)

// A Time is RFC 3339 in UTC with milliseconds, and null where it is not known.
type Time time.Time

// MarshalJSON writes it.
func (t Time) MarshalJSON() ([]byte, error) {
	if time.Time(t).IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + stamp(time.Time(t)) + `"`), nil
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Seconds are a duration, and null where there is none.
type Seconds struct {
	time.Duration
	Known bool
}

// MarshalJSON writes it.
func (s Seconds) MarshalJSON() ([]byte, error) {
	if !s.Known {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%.3f", s.Seconds()), nil
}

func known(d time.Duration) Seconds { return Seconds{d, true} }

// lease is what is left of one, null where there is none.
func lease(ttl time.Duration) Seconds { return Seconds{ttl, ttl >= 0} }

// since is how long a moment ago is, null for one that is not known.
func since(at, now time.Time) Seconds {
	if at.IsZero() {
		return Seconds{}
	}
	return known(max(0, now.Sub(at)))
}

func exact(bytes string) string { return base64.StdEncoding.EncodeToString([]byte(bytes)) }

// Age is a duration as people say it: 0.4 s, 23 s, 4 min 10 s, 12 min, 3 h 20 min, 5 d.
func Age(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", math.Floor(max(0, d).Seconds()*10)/10)
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	default:
		return two(d, 24*time.Hour, "d", time.Hour, "h")
	}
}

// two has the smaller unit beside less than ten of the larger.
func two(d, large time.Duration, name string, small time.Duration, smallName string) string {
	n, rest := d/large, d%large/small
	if n >= 10 || rest == 0 {
		return fmt.Sprintf("%d %s", n, name)
	}
	return fmt.Sprintf("%d %s %d %s", n, name, rest, smallName)
}

func (s Seconds) age() string {
	if !s.Known {
		return "?"
	}
	return Age(s.Duration)
}

// count is a number with its noun.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if noun == "process" {
		noun += "e"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
