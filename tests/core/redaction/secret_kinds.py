"""Secrets of every kind that is claimed, as texts and as values, made up."""

from __future__ import annotations

import json
from typing import Any

WORD = "hunter2Xy9Q"
"""A secret that only its name gives away."""

HEX = "0123456789abcdef0123456789abcdef"
TEXTS: dict[str, tuple[str, str]] = {
    "openai": ("sk-proj-Abc123Def456Ghi789", "sk-proj-Abc123Def456Ghi789"),
    "anthropic": ("sk-ant-api03-AAbb_cc-11-Zz", "sk-ant-api03-AAbb_cc-11-Zz"),
    "github": ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "0123456789abcdefghijABCDEFGHIJ012345"),
    "gitlab": ("glpat-abcdefghij0123456789", "glpat-abcdefghij0123456789"),
    "slack": ("xoxb-123456789012-abcdefABCDEF", "xoxb-123456789012-abcdefABCDEF"),
    "slack webhook": ("https://hooks.slack.com/services/T0001/B0002/Abc123Def456", "T0001/B0002/Abc123Def456"),
    "aws": ("AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    "google": ("AIzaSyD-0123456789abcdefghijABCDEFGHIJ0", "AIzaSyD-0123456789abcdefghijABCDEFGHIJ0"),
    "stripe": ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "4eC39HqLyjWDarjtT1zdp7dc"),
    "hugging face": ("hf_AbCdEfGhIjKlMnOp0123", "AbCdEfGhIjKlMnOp0123"),
    "twilio": (f"SK{HEX}", HEX),
    "discord": (
        "MTE0NTE0MTkxOTgxMDkzMTkxOQ.GaBcDe.abcdef-GHIJ0123456789klmnopqr_st",
        "abcdef-GHIJ0123456789klmnopqr_st",
    ),
    "discord webhook": (
        "https://discord.com/api/webhooks/123456789/aBc0_1234567890aBcDeF-x",
        "aBc0_1234567890aBcDeF-x",
    ),
    "telegram": ("https://api.telegram.org/bot123456789:AAbbCCddEEffGGhhIIjj/getMe", "AAbbCCddEEffGGhhIIjj"),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlc2ln", "c2lnbmF0dXJlc2ln"),
    "private key": ("-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----", "MIIEvQIBADANBg"),
    "bearer": (f"Authorization: Bearer {WORD}-1", f"{WORD}-1"),
    "basic": ("Authorization: Basic aHVudGVyOkVYQU1QTEU=", "aHVudGVyOkVYQU1QTEU="),
    "login in an address": (f"postgres://ann:{WORD}@db.local/x", WORD),
    "signed address": (f"https://host/x?sv=1&sig={WORD}", WORD),
    "query": (f"https://host/x?a=1&access_token={WORD}", WORD),
    "form": (f"user=ann&password={WORD}&x=1", WORD),
    "dotenv": (f"HOST=db\nDB_PASSWORD={WORD}\nPORT=1", WORD),
    "export": (f"export SERVICE_TOKEN={WORD}", WORD),
    "prefix of a command": (f"PGPASSWORD={WORD} psql -h db", WORD),
    "yaml": (f"db:\n  host: x\n  password: {WORD}\n  port: 1", WORD),
    "ini": (f"[db]\npasswd = {WORD}\n", WORD),
    "toml": (f'api_key = "{WORD}"', WORD),
    "properties": (f"spring.datasource.password={WORD}", WORD),
    "netrc": (f"machine host\n  login ann\n  password {WORD}\n", WORD),
    "curl": (f"curl -u ann:{WORD} https://host/", WORD),
    "curl with a header": (f"curl -H 'X-Api-Key: {WORD}' https://host/", WORD),
    "option": (f"tool --api-key {WORD} --verbose", WORD),
    "option with a sign": (f"tool --client-secret={WORD}", WORD),
    "connection string": (f"host=db user=ann password={WORD} dbname=x", WORD),
    "azure": ("DefaultEndpointsProtocol=https;AccountName=n;AccountKey=abcd1234EFGHijkl==;", "abcd1234EFGHijkl"),
    "cookie": (f"Cookie: theme=dark; session={WORD}", WORD),
    "set-cookie": (f"Set-Cookie: sid={WORD}; Path=/; HttpOnly", WORD),
    "header": (f"X-Auth-Token: {WORD}", WORD),
    "python": (f"Config(host='h', password='{WORD}')", WORD),
    "python dict": (f"{{'user': 'ann', 'api_key': '{WORD}'}}", WORD),
    "environ": (f"os.environ['API_KEY'] = '{WORD}'", WORD),
    "xml": (f"<user>ann</user><password>{WORD}</password>", WORD),
    "said": (f"the password: {WORD}, thanks", WORD),
    "json": (json.dumps({"q": 1, "client_secret": WORD}), WORD),
    "json in json": (json.dumps({"args": json.dumps({"password": WORD})}), WORD),
    "json three deep": (json.dumps({"a": json.dumps({"b": json.dumps({"secret": [WORD]})})}), WORD),
    "number in json": (json.dumps({"user": "ann", "pin": 48213657}), "48213657"),
    "piece of json": ('{"password": "' + WORD, WORD),
    "lines in json": (json.dumps({"content": f"A=1\nDB_PASSWORD={WORD}\nsecret: {WORD}z\n"}), WORD),
}
"""A text that holds a secret, and what of it nothing may keep."""

FIELDS: dict[str, tuple[Any, str]] = {
    "password": ({"password": WORD}, WORD),
    "passwd": ({"passwd": "opensesame"}, "opensesame"),
    "pwd": ({"pwd": WORD}, WORD),
    "number": ({"password": 48213657}, "48213657"),
    "pin": ({"pin": 48213657}, "48213657"),
    "otp": ({"otp": "482136"}, "482136"),
    "cvv": ({"cvv": "7913"}, "7913"),
    "token": ({"token": WORD}, WORD),
    "jwt": ({"jwt": "aaaa.bbbb.cccc"}, "aaaa.bbbb.cccc"),
    "list": ({"api_keys": [WORD, "other"]}, WORD),
    "list of numbers": ({"secrets": [1, 48213657]}, "48213657"),
    "object": ({"secret": {"user": "ann", "deep": [{"hash": WORD}]}}, WORD),
    "object of a token": ({"token": {"id": 5, "held": WORD}}, WORD),
    "cookies": ({"cookies": {"session": WORD}}, WORD),
    "bytes": ({"password": WORD.encode()}, WORD),
    "tuple": ({"password": (WORD, 1)}, WORD),
    "set": ({"api_key": {WORD}}, WORD),
    "keys that are no texts": ({1: 2, "password": WORD}, WORD),
    "name and value": ({"name": "api_key", "value": WORD}, WORD),
    "argument": (["tool", "--password", WORD], WORD),
    "login": (["curl", "-u", f"ann:{WORD}"], WORD),
    "header": ([["Authorization", WORD]], WORD),
}
"""A value that holds a secret, and what of it nothing may keep."""

HARMLESS_TEXTS = [
    "sk-ant-...", "OPENAI_API_KEY=sk-ant-...", "export TOKEN=$VAR", "api_key: <key>", "token: undefined",
    "password = None", "PASSWORD=${DB_PASSWORD}", "key: ${{ secrets.API_KEY }}", "api_key=your-api-key",
    "password: str", "password: SecretStr", "def f(password: str = None, token=None):", "self.password = password",
    "connect(user=user, password=password)", "password = os.environ['X']", "API_KEY=$(pass show key)",
    "password = getpass('your password: ')", "Password: must be at least 8 characters", "secret: Santa",
    "token: 5", "pin: 13", "pin: true", "The secret is out", "The token is invalid", "max_tokens: 128000",
    "design_token: color-primary", "brand_token: color-blue-500", "cookie: chocolate chip", "sk-learn-0",
    "pip install sk-learn-contrib-2024", "key: value", "token count: 3", "tokens: 151643", "passed: 12",
    "monkey=1", "keyboard: qwerty1", "author: x1y2z3w4", "--max-tokens 4096", "pass: 3", "second_pass=ab12cd34",
    "GET /v1/models?page_token=CAEQAA==&q=1", "[password]", "the password is {password}",
    json.dumps({"properties": {"password": {"type": "string", "description": "8 to 20 letters, 1 digit"}}}),
    json.dumps({"token": "word2vec", "logprob": -0.5}), json.dumps({"secret": None, "api_key": "", "password": False}),
    "PWD=/home/ann1/x", '{"pwd": "/home/ann1"}', "pwd: ~/work1",
]  # fmt: skip
