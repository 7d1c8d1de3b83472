package connect_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/cmd/redlatch/internal/connect"
	"github.com/redlatch/redlatch/cmd/redlatch/internal/exit"
	"github.com/redlatch/redlatch/internal/test/redistest"
)

func TestMain(m *testing.M) {
	os.Unsetenv(connect.PasswordVariable) // what the user has set is not for these tests
	redistest.Main(m)
}

func open(t *testing.T, f connect.Flags) redis.UniversalClient {
	t.Helper()
	client, err := f.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestEachFormOfAURLIsRead(t *testing.T) {
	single := func(url string) *redis.Options {
		return open(t, connect.Flags{URL: url}).(*redis.Client).Options()
	}
	require.Equal(t, "127.0.0.1:6379", single("").Addr)
	require.Equal(t, "db:7000", single("redis://db:7000/3").Addr)
	require.Equal(t, 3, single("redis://db:7000/3").DB)
	require.Nil(t, single("redis://db:7000/3").TLSConfig)
	require.NotNil(t, single("rediss://db").TLSConfig)
	require.Equal(t, "unix", single("unix:///run/redis.sock?db=1").Network)
	require.Equal(t, "FailoverClient", single("redis+sentinel://ada:pw@a:1,b:2/mymaster/4").Addr)
	require.Equal(t, 4, single("redis+sentinel://ada:pw@a:1,b:2/mymaster/4").DB)
	require.Equal(t, "pw", single("redis+sentinel://ada:pw@a:1,b:2/mymaster/4").Password)
	require.NotNil(t, single("rediss+sentinel://a/mymaster").TLSConfig)

	cluster := open(t, connect.Flags{URL: "redis+cluster://ada:pw@a:1,b:2"}).(*redis.ClusterClient).Options()
	require.Equal(t, []string{"a:1", "b:2"}, cluster.Addrs)
	require.Equal(t, "ada", cluster.Username)
	require.Equal(t, "pw", cluster.Password)
}

func TestAURLThatMakesNoSenseIsRefusedWithoutQuotingIt(t *testing.T) {
	for _, url := range []string{
		"localhost", "http://:secret@localhost", "redis://:secret@localhost:x", "redis+sentinel://:secret@a:1", "redis+cluster://:secret@a:1,",
		"redis+cluster://:secret@a:1/3", "redis://:secret@a/x", "redis+cluster://:sec%ret@a",
	} {
		_, err := connect.Flags{URL: url}.Open()
		require.Equal(t, exit.Usage, exit.Code(err), url)
		require.NotContains(t, err.Error(), "sec", url)
		require.Contains(t, err.Error(), "redis+cluster://", url)
	}
}

func TestThePasswordOfTheFileWinsOverThatOfTheEnvironmentAndTheURL(t *testing.T) {
	password := func(f connect.Flags) string { return open(t, f).(*redis.Client).Options().Password }
	f := connect.Flags{URL: "redis://:one@db"}
	require.Equal(t, "one", password(f))
	t.Setenv(connect.PasswordVariable, "two")
	require.Equal(t, "two", password(f))
	f.PasswordFile = filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(f.PasswordFile, []byte("three\r\nfour\n"), 0o600))
	require.Equal(t, "three", password(f))

	f.PasswordFile += "s"
	_, err := f.Open()
	require.ErrorContains(t, err, "--password-file")
	require.NotContains(t, f.Where(), "one")
}

func TestFlagsOfTLSMakeTheConnectionSecure(t *testing.T) {
	folder := t.TempDir()
	cert, key := filepath.Join(folder, "cert"), filepath.Join(folder, "key")
	issue(t, cert, key)
	f := connect.Flags{URL: "redis://db", TLSCA: cert, TLSCert: cert, TLSKey: key, TLSName: "db.internal"}
	config := open(t, f).(*redis.Client).Options().TLSConfig
	require.Equal(t, "db.internal", config.ServerName)
	require.Len(t, config.Certificates, 1)
	require.NotNil(t, config.RootCAs)
	require.False(t, config.InsecureSkipVerify)
	require.True(t, open(t, connect.Flags{TLSInsecure: true}).(*redis.Client).Options().TLSConfig.InsecureSkipVerify)

	for _, wrong := range []connect.Flags{{TLSCA: folder}, {TLSCA: key}, {TLSCert: cert}, {TLSCert: cert, TLSKey: cert}} {
		_, err := wrong.Open()
		require.ErrorContains(t, err, "--tls-")
		require.Equal(t, exit.Usage, exit.Code(err))
	}
}

// issue writes a certificate that is its own authority.
func issue(t *testing.T, cert, key string) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
}

func TestARedactedURLHasNoPassword(t *testing.T) {
	for url, want := range map[string]string{
		"":                                 "",
		"redis://db:1/3":                   "redis://db:1/3",
		"redis://ada:pw@db:1/3?protocol=2": "redis://ada@db:1/3?protocol=2",
		"rediss://:pw@db":                  "rediss://db",
		"redis://ada@db":                   "redis://ada@db",
		"unix:///run/redis.sock?db=1":      "unix:///run/redis.sock?db=1",
		"unix://ada:pw@/run/redis.sock":    "unix://ada@/run/redis.sock",
		"redis+sentinel://ada:p@w@a:1,b:2/main?sentinel_password=pw": "redis+sentinel://ada@a:1,b:2/main",
		"redis+cluster://ada:pw@a:1,b:2":                             "redis+cluster://ada@a:1,b:2",
	} {
		require.Equal(t, want, connect.Redacted(url), url)
	}
}

func TestTheSentinelsOfAURLCanBeAskedThemselves(t *testing.T) {
	master, clients, err := connect.Flags{URL: "redis+sentinel://ada:pw@a:1,b:2/mymaster"}.Sentinels()
	require.NoError(t, err)
	require.Equal(t, "mymaster", master)
	require.Len(t, clients, 2)
	for _, client := range clients {
		require.NoError(t, client.Close())
	}
	master, clients, err = connect.Flags{URL: "redis://a:1"}.Sentinels()
	require.NoError(t, err)
	require.Empty(t, master)
	require.Empty(t, clients)
	_, _, err = connect.Flags{URL: "nonsense"}.Sentinels()
	require.Equal(t, exit.Usage, exit.Code(err))
}
