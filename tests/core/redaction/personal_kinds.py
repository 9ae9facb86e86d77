"""Personal data of every kind that is claimed, made up or given out for tests, and what only looks like some."""

from __future__ import annotations

PERSONAL: dict[str, str] = {
    "e-mail": "ann.lee+bills@mail.example.com",
    "e-mail of an umlaut domain": "ann@xn--mller-kva.example",
    "phone": "+4930901820",
    "phone with spaces": "+49 170 1234567",
    "phone with signs": "+1 (415) 555-2671",
    "phone with dots": "+33.1.42.68.53.00",
    "phone with zeros": "0044 20 7183 8750",
    "phone of America": "(415) 555-2671",
    "phone of America with signs": "415-555-2671",
    "Visa": "4111111111111111",
    "Mastercard": "5500-0000-0000-0004",
    "Mastercard of the second range": "2221 0000 0000 0009",
    "American Express": "3782 822463 10005",
    "Diners": "30569309025904",
    "IBAN": "DE89370400440532013000",
    "IBAN with spaces": "GB29 NWBK 6016 1331 9268 19",
    "US SSN": "536-90-4399",
    "Spain, DNI": "54362315-K",
    "Spain, NIE": "X2482300W",
    "Italy": "RCCMNL83S18D969H",
    "France": "2 95 10 99 126 111 93",
    "Poland": "44051401359",
    "Germany": "36 574 261 809",
    "Belgium": "85.07.30-033.28",
    "Norway": "15108695088",
    "Finland": "131052-308T",
    "Czechia": "710319/2745",
    "Switzerland": "756.9217.0769.85",
    "the Netherlands": "bsn 111222333",
    "Denmark": "cpr 211062-5629",
    "Sweden": "personnummer 880320-0016",
    "Britain, NHS": "NHS 943 476 5870",
}
"""Values by kind; of those with a word before them, the word stays."""

HARMLESS = [
    "git@github.com:ann/tools.git", "icon@2x.png", "@app.route('/x')", "react@18.2.0", "a@b", "user@localhost",
    "2026-11-24T08:21:21+00:00", "2026-11-24 08:21:21.123456", "1732435281000", "1732435281000000000",
    "550e8400-e29b-41d4-a716-446655440000", "+1.23456789", "-0.4111111111111111", "4111111111111112", "4111 1111",
    "1234567890123456", "123-45-678", "000-12-3456", "666-12-3456", "900-12-3456", "DE89370400440532013001",
    "12345678A", "44051401358", "111222333", "943 176 587", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20",
    "127.0.0.1:8080", "v1.2.3.4567", "0x4111111111111111", "call_4111111111111111", "10:20:30", "a[1::2]", "std::move",
    "call 911", "1-800", "3.14159265358979", "1e308", "(100) 200-3000", "555-0100", "tokens: 151643", "@@ -1,5 +1,9 @@",
    "msg_01XFDUDYJgAACzvnptvVoYEL", "chatcmpl-9abcDEF123456789", "sha256:9f86d081884c7d659a2feaa0c55ad015",
]  # fmt: skip
"""Texts that hold no personal data that is claimed."""
