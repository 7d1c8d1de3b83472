package history_test

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/redlatch/redlatch/proof/internal/history"
)

var declared = history.Record{What: history.Object, Object: "x", N: 1}

func TestWhatDoesNotFitIsAnError(t *testing.T) {
	call := history.Record{At: 1, What: history.Call, Client: "a", Op: 1, Object: "x", Mode: history.Exclusive}
	got := history.Record{At: 2, What: history.Got, Client: "a", Op: 1}
	refused := history.Record{At: 2, What: history.Refused, Client: "a", Op: 1}
	for name, records := range map[string][]history.Record{
		"an object that is not declared":        {call},
		"an object that is declared twice":      {declared, declared},
		"a return without a call":               {declared, got},
		"a second return":                       {declared, call, got, refused},
		"a second call with one number":         {declared, call, call},
		"a hold that was refused":               {declared, call, refused, {At: 3, What: history.Valid, Client: "a", Op: 1}},
		"a hold of an operation under way":      {declared, call, {At: 3, What: history.Left, Client: "a", Op: 1}},
		"a call within what is not known":       {declared, {At: 1, What: history.Call, Client: "a", Op: 2, Object: "x", Within: 1}},
		"a final state of what is not declared": {{At: 1, What: history.Final, Object: "x"}},
		"a write into what is not declared":     {declared, call, got, {At: 3, What: history.Stands, Client: "a", Op: 1, Object: "y"}},
		"a run that says so":                    {declared, {At: 1, What: history.Broken}},
		"a word that means nothing":             {declared, call, got, {At: 3, What: "dance", Client: "a", Op: 1}},
	} {
		if _, err := history.Build(records); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

func TestAnOperationIsPutTogetherFromItsRecords(t *testing.T) {
	h, err := history.Build([]history.Record{
		{At: 9, What: history.Left, Client: "a", Op: 1},
		{At: 3, What: history.Got, Client: "a", Op: 1, Token: 7, Queued: 2},
		{At: 1, What: history.Call, Client: "a", Op: 1, Object: "x", Mode: history.Exclusive, Lease: 30},
		{At: 6, What: history.Valid, Client: "a", Op: 1},
		{At: 4, What: history.Call, Client: "a", Op: 2, Object: "x", Mode: history.Exclusive, Within: 1, Least: 5, Asks: true},
		{At: 5, What: history.Got, Client: "a", Op: 2},
		{At: 8, What: history.Leave, Client: "a", Op: 1},
		{At: 10, What: history.Told, Client: "a", Op: 2},
		{At: 9, What: history.Heard, Client: "b", Object: "x"},
		{At: 5, What: history.Suspend, Client: "b"},
		{At: 7, What: history.Resume, Client: "b"},
		{At: 8, What: history.Kill, Client: "c"},
		{At: 8, What: history.Outside},
		{At: 10, What: history.Final, Object: "x", N: 2},
		{At: 10, What: history.Object, Object: "x", N: 1, Bound: 5, Fair: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	two := int64(2)
	outer := &history.Act{
		Client: "a", Op: 1, Mode: history.Exclusive, Token: 7, Lease: 30, Called: 1, Outcome: history.Got, Back: 3, Queued: 2,
		Certain: 6, Told: history.Never, Lost: history.Never, Leaving: 8, Over: 9,
	}
	inner := &history.Act{
		Client: "a", Op: 2, Mode: history.Exclusive, Within: outer, Least: 5, Asks: true, Called: 4, Outcome: history.Got, Back: 5,
		Certain: 5, Told: 10, Lost: 10, Leaving: history.Never, Over: history.Never,
	}
	want := &history.History{
		Things: []*history.Thing{{Name: "x", N: 1, Bound: 5, Fair: true, Acts: []*history.Act{outer, inner}, Outside: []history.Span{{From: 8, To: 8}},
			Heard: []history.Hearing{{Client: "b", At: 9}}, Final: &two}},
		Outages: []history.Outage{
			{Client: "b", From: 5, To: 7},
			{Client: "c", From: 8, To: history.Never, Killed: true},
		},
		Begin: 1, End: 10,
	}
	if !reflect.DeepEqual(h, want) {
		t.Errorf("%+v\n%+v", h.Things[0], want.Things[0])
	}
	if inner.Root() != outer || h.KilledAt("c") != 8 || h.KilledAt("a") != history.Never {
		t.Error("the holder or the death is wrong")
	}
	if !h.Hindered("b", 6, 9) || h.Hindered("b", 7, 9) || h.Hindered("b", 1, 5) || h.Hindered("a", 1, 9) {
		t.Error("who could not act is wrong")
	}
}

func TestAJournalComesBackWithoutTheLineThatDeathCutShort(t *testing.T) {
	folder := t.TempDir()
	records := []history.Record{declared, {At: 1, What: history.Call, Client: "a", Op: 1, Object: "x", Mode: history.Await, Text: "a \"line\"\n"}}
	for _, client := range []string{"a", "b"} {
		journal, err := history.Open(folder, client)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			if err := journal.Write(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := journal.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file, err := os.OpenFile(filepath.Join(folder, "b.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`{"at":5,"what":"go`); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := history.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if want := append(append([]history.Record{}, records...), records...); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if _, err := history.Open(folder, "a"); err == nil {
		t.Error("a journal that exists is begun again")
	}
	if _, err := history.Read(t.TempDir()); err == nil {
		t.Error("an empty folder is a history")
	}
}
