package statetest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A window is the time by the server's clock in which everything that is compared has happened.
type window struct{ from, to time.Time }

// rounding is what whole milliseconds can add: the server truncates the clock and the TTL, each by less than one.
const rounding = 2 * time.Millisecond

// holds reports whether got can be what is left of want, which was set within the window.
func (w window) holds(want, got time.Duration) bool {
	return got <= want+rounding && got >= want-w.to.Sub(w.from)-rounding
}

// compare says how got differs from want, one line for each difference; empty when it does not.
func compare(want, got State, within window) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		have, ok := got[name]
		if !ok {
			lines = append(lines, fmt.Sprintf("%s: missing", name))
			continue
		}
		if !sameValue(want[name].Value, have.Value, within) {
			lines = append(lines, fmt.Sprintf("%s: is %v, should be %v", name, have.Value, want[name].Value))
		}
		wantTTL, haveTTL := want[name].TTL, have.TTL
		if (wantTTL == 0) != (haveTTL == 0) || wantTTL != 0 && !within.holds(wantTTL, haveTTL) {
			lines = append(lines, fmt.Sprintf("%s: has a TTL of %v, should have %v less at most %v (0 is none)",
				name, haveTTL, wantTTL, within.to.Sub(within.from)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			lines = append(lines, fmt.Sprintf("%s: should not exist, is %v", name, got[name].Value))
		}
	}
	return strings.Join(lines, "\n")
}

func sameValue(want, got any, within window) bool {
	if fields, ok := want.(Fields); ok {
		hash, ok := got.(Hash)
		return ok && sameFields(fields, hash, within)
	}
	deadlines, ok := want.(Deadlines)
	if !ok {
		return reflect.DeepEqual(want, got)
	}
	scores, ok := got.(Scores)
	if !ok || len(scores) != len(deadlines) {
		return false
	}
	for member, later := range deadlines {
		score, ok := scores[member]
		if !ok {
			return false
		}
		if !within.reaches(later, int64(score)) {
			return false
		}
	}
	return true
}

// reaches reports whether got, in milliseconds since 1970, can be the moment that much later than one in the window.
//
// A script adds what is left of a TTL to the time. Where the server reads the one after the other, the moment is earlier by
// what passes between.
func (w window) reaches(later time.Duration, got int64) bool {
	moment, took := time.UnixMilli(got), w.to.Sub(w.from)
	return !moment.Before(w.from.Add(later-took-rounding)) && !moment.After(w.to.Add(later+rounding))
}

func sameFields(want Fields, got Hash, within window) bool {
	if len(want) != len(got) {
		return false
	}
	for field, content := range want {
		later, is := content.(time.Duration)
		if !is {
			if have, ok := got[field]; !ok || have != content {
				return false
			}
			continue
		}
		moment, err := strconv.ParseInt(got[field], 10, 64)
		if err != nil || !within.reaches(later, moment) {
			return false
		}
	}
	return true
}

// sameReply compares replies. A positive duration in a struct, or in a map of one, is what was left of a TTL.
func sameReply(want, got reflect.Value, within window) bool {
	if want.Kind() == reflect.Struct {
		for i := range want.NumField() {
			if !sameReply(want.Field(i), got.Field(i), within) {
				return false
			}
		}
		return true
	}
	if ttls, ok := want.Interface().(map[string]time.Duration); ok {
		return maps.EqualFunc(ttls, got.Interface().(map[string]time.Duration), func(want, got time.Duration) bool {
			return want == got || want > 0 && within.holds(want, got)
		})
	}
	if duration, ok := want.Interface().(time.Duration); ok && duration > 0 {
		return within.holds(duration, got.Interface().(time.Duration))
	}
	return reflect.DeepEqual(want.Interface(), got.Interface())
}

// halfReply is the reply with the durations in it cut in half, as those of the state are.
func halfReply[R any](reply R) R {
	value := reflect.ValueOf(&reply).Elem()
	if value.Kind() == reflect.Struct {
		for i := range value.NumField() {
			switch field := value.Field(i).Interface().(type) {
			case time.Duration:
				value.Field(i).SetInt(int64(halved(field)))
			case map[string]time.Duration:
				half := maps.Clone(field)
				for key, ttl := range half {
					half[key] = halved(ttl)
				}
				value.Field(i).Set(reflect.ValueOf(half))
			}
		}
	}
	return reply
}

func halved(ttl time.Duration) time.Duration {
	if ttl > 0 {
		return ttl / 2
	}
	return ttl
}
