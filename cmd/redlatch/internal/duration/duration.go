// Package duration reads times from a command line.
package duration

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// A Duration is written with its unit: 90s, 2m. A number alone is refused with a word on units, because people give it.
type Duration time.Duration

// UnmarshalText reads a Duration.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if _, bare := strconv.ParseFloat(string(text), 64); err != nil && bare == nil {
		return fmt.Errorf("say the unit, as in %ss for seconds or %sm for minutes", text, text)
	}
	if err != nil {
		return errors.New("give a time with its unit, such as 90s or 2m")
	}
	*d = Duration(parsed)
	return nil
}

// Seconds are written as flock(1) has them, a number of seconds, or with a unit.
type Seconds time.Duration

// UnmarshalText reads Seconds.
func (s *Seconds) UnmarshalText(text []byte) error {
	number, err := strconv.ParseFloat(string(text), 64)
	if err == nil && (math.IsNaN(number) || math.Abs(number) > math.MaxInt32) {
		return errors.New("give seconds, such as 10 or 0.5, or a time with its unit, such as 2m")
	}
	if err == nil {
		*s = Seconds(number * float64(time.Second))
		return nil
	}
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New("give seconds, such as 10 or 0.5, or a time with its unit, such as 2m")
	}
	*s = Seconds(parsed)
	return nil
}
