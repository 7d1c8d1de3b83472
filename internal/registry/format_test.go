package registry

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAThingIsReadAsItWasWritten(t *testing.T) {
	for _, thing := range []Thing{
		{Kind: "lock", Key: "orders:42", Holds: 1, HeldSince: 1764000000000, Owners: []Owner{{"7", 1764000000000, false}}},
		{Kind: "read_lock", Key: "a,b@c d:{x}\x00\xff", Holds: 2, HeldSince: 5, Waiters: 3, WaitingSince: 6, Waits: 7, Waited: 8,
			Owners: []Owner{{"7", 5, false}, {"8", 9, true}}},
		{Kind: "lock", Key: "nightly", Holds: 1, HeldSince: 5, Owners: []Owner{{"7", 5, true}}},
		{Kind: "permit_semaphore", Key: "p", Holds: 1, HeldSince: 5, Owners: []Owner{{"6f0ab3", 5, false}}},
		{Kind: "semaphore", Key: "s", Waiters: 1, WaitingSince: 4},
	} {
		got, err := ParseThing(thing.Field(), thing.Value())
		require.NoError(t, err)
		require.Equal(t, thing, got)
		require.True(t, IsThing(thing.Field()))
	}
}

func TestAThingThatMakesNoSenseIsRefused(t *testing.T) {
	for field, value := range map[string]string{
		"t:lock:":  "1,1,0,0,0,0,",
		"t::x":     "1,1,0,0,0,0,",
		"t:lock":   "1,1,0,0,0,0,",
		"about":    "1,1,0,0,0,0,",
		"t:lock:a": "1,1,0,0,0",
		"t:lock:b": "1,x,0,0,0,0,",
		"t:lock:c": "-1,1,0,0,0,0,",
		"t:lock:d": "1,1,0,0,0,0,7",
		"t:lock:e": "1,1,0,0,0,0,@5",
		"t:lock:f": "1,1,0,0,0,0,7@",
		"t:lock:g": "99999999999999999999,1,0,0,0,0,",
	} {
		_, err := ParseThing(field, value)
		require.Error(t, err, "%s %s", field, value)
	}
	later, err := ParseThing("t:lock:x", "1,2,0,0,0,0,7@2,of,a,later,version")
	require.NoError(t, err)
	require.Equal(t, []Owner{{"7", 2, false}}, later.Owners)
	marked, err := ParseThing("t:lock:x", "2,2,0,0,0,0,7@2 8@3,8 9,of a later version")
	require.NoError(t, err)
	require.Equal(t, []Owner{{"7", 2, false}, {"8", 3, true}}, marked.Owners)
	earlier, err := ParseThing("t:lock:x", "1,2,0,0,0,0,7@2")
	require.NoError(t, err)
	require.Equal(t, []Owner{{"7", 2, false}}, earlier.Owners)
	many, err := ParseThing("t:lock:x", "9,2,0,0,0,0,"+strings.Repeat("7@2 ", 100))
	require.NoError(t, err)
	require.Len(t, many.Owners, MostOwners)
}

func TestAnAboutIsReadAsItWasWrittenButForHostileText(t *testing.T) {
	about := About{Version: Version, Host: "web-3", PID: 17, Program: "billing", Label: "blue", Language: "go", Started: 4, Timeout: 30000}
	got, err := ParseAbout(about.JSON())
	require.NoError(t, err)
	require.Equal(t, about, got)

	got, err = ParseAbout(`{"v":1,"host":"\u001b[2J` + strings.Repeat("é", 100) + `","new":[1]}`)
	require.NoError(t, err)
	require.LessOrEqual(t, len(got.Host), MostText)
	require.True(t, strings.HasPrefix(got.Host, "?[2Jé"), got.Host)

	for _, text := range []string{"", "[]", `{"pid":"x"}`, `{"host":"` + strings.Repeat("x", mostAbout) + `"}`} {
		_, err := ParseAbout(text)
		require.Error(t, err)
	}
}

func TestAnEntryIsInTheSlotOfItsIndex(t *testing.T) {
	require.Equal(t, 63, Bucket("ff345678-aaaa"))
	require.Equal(t, 0, Bucket(""))
	require.Equal(t, 0, Bucket("zz"))
	require.Equal(t, "redlatch_clients:{b63}", Index("", 63))
	require.Equal(t, "t1:redlatch_client:{b01}:0112", Entry("t1:", "0112"))
	require.Equal(t, "u:5", Owned("u", Owner{ID: "5"}))
	require.Equal(t, "6f0ab3", Owned("u", Owner{ID: "6f0ab3"}))
}
