package registry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Thing is what one client has to do with one name of one kind: its holds and its waits.
type Thing struct {
	// Kind is the label of a redlatch.Kind: "lock", "read_lock", "semaphore", "latch"; it contains no colon.
	// The waiters for either side of a read-write lock wait together, for a "read_write_lock".
	Kind string
	Key  string // the name as Redis has it, any bytes

	Holds        int64 // holds of the client, or permits
	HeldSince    int64 // since when the oldest of them is held; 0 where nothing is
	Waiters      int64 // calls that wait
	WaitingSince int64 // since when the oldest of them waits; 0 where none does
	// how many waits have ended since the client last had nothing to do with the key; 0 where that is not
	// counted
	Waits  int64
	Waited int64 // for how many milliseconds these waited in all
	Owners []Owner
}

// MostOwners is how many owners of one thing a client reports, the oldest ones.
const MostOwners = 8

// An Owner is one identity that holds a thing.
type Owner struct {
	// the number of "<uuid>:<number>", or the id of a permit as programs see it; it contains no space, comma or
	// at sign
	ID    string
	Since int64 // since when it holds
	Kept  bool  // its program has given it back, and WithAtLeast keeps it
}

// Owned is the identity in Redis of an owner of the client with this uuid.
func Owned(uuid string, o Owner) string {
	if _, err := strconv.ParseInt(o.ID, 10, 64); err == nil && len(o.ID) < 20 {
		return uuid + ":" + o.ID
	}
	return o.ID
}

const thingPrefix = "t:"

// Field is the field of an entry that has the thing.
func (t Thing) Field() string { return thingPrefix + t.Kind + ":" + t.Key }

// IsThing tells whether a field of an entry is a thing.
func IsThing(field string) bool { return strings.HasPrefix(field, thingPrefix) }

// Value is what stands in the field: six numbers, the owners and, if there are any, the ids of those that are
// kept, with commas between.
func (t Thing) Value() string {
	owners := make([]string, len(t.Owners))
	var kept []string
	for i, o := range t.Owners {
		owners[i] = o.ID + "@" + strconv.FormatInt(o.Since, 10)
		if o.Kept {
			kept = append(kept, o.ID)
		}
	}
	value := fmt.Sprintf("%d,%d,%d,%d,%d,%d,%s",
		t.Holds, t.HeldSince, t.Waiters, t.WaitingSince, t.Waits, t.Waited, strings.Join(owners, " "))
	if len(kept) > 0 {
		value += "," + strings.Join(kept, " ")
	}
	return value
}

// ParseThing reads a field of an entry and its value. Any program may have written them.
func ParseThing(field, value string) (t Thing, err error) {
	rest, ok := strings.CutPrefix(field, thingPrefix)
	if ok {
		t.Kind, t.Key, ok = strings.Cut(rest, ":")
	}
	if !ok || t.Kind == "" || t.Key == "" {
		return t, fmt.Errorf("the field %q is not t:<kind>:<key>", field)
	}
	parts := strings.SplitN(value, ",", 9) // a later version may have more, and an earlier one has seven
	if len(parts) < 7 {
		return t, fmt.Errorf("the value %q of %q has fewer than seven parts", value, field)
	}
	for i, to := range []*int64{&t.Holds, &t.HeldSince, &t.Waiters, &t.WaitingSince, &t.Waits, &t.Waited} {
		if *to, err = strconv.ParseInt(parts[i], 10, 64); err != nil || *to < 0 {
			return t, fmt.Errorf("part %d of the value %q of %q is not a number that makes sense", i+1, value, field)
		}
	}
	var kept []string
	if len(parts) > 7 {
		kept = strings.Fields(parts[7])
	}
	for _, text := range strings.Fields(parts[6]) {
		id, since, ok := strings.Cut(text, "@")
		at, err := strconv.ParseInt(since, 10, 64)
		if !ok || id == "" || err != nil {
			return t, fmt.Errorf("the owner %q of %q is not <id>@<since>", text, field)
		}
		if len(t.Owners) < MostOwners {
			t.Owners = append(t.Owners, Owner{id, at, slices.Contains(kept, id)})
		}
	}
	return t, nil
}
