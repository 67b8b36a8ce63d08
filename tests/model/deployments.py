"""Facts of OpenDP's registry of deployments: the fields of a record, their types, their words and which must be there.

From `schemas/deployments-schema.yaml` of opendp/deployments-registry-data, commit 057e5d81cf60, read on 2026-11-28.
"""

from __future__ import annotations

from typing import Any

READ, COMMIT = "2026-11-28", "057e5d81cf60"

TEXT: dict[str, Any] = {"type": "string"}
WHOLE: dict[str, Any] = {"type": "integer"}
NUMBER: dict[str, Any] = {"type": "number"}
ANY: dict[str, Any] = {}

VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
PRODUCTS = (
    "Summary statistics",
    "Machine learning model",
    "Dataset",
    "Synthetic data",
    "Interactive API",
    "SQL queries",
)
CURATORS = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
MODELS = ("Local", "Central", "Shuffle", "Federated", "Varies")
STATES = (
    "Converted",
    "Draft",
    "Pending",
    "Changes Required",
    "Approved",
    "Approved (Update Requested)",
    "Approved (Pending)",
)


def words(*allowed: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(allowed)}


def several(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": item, "minItems": 1}


def part(required: str = "", **fields: dict[str, Any]) -> dict[str, Any]:
    """An object that has these fields and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": required.split(),
        "properties": fields,
    }


CURATOR = {
    "type": "object",
    "required": ["data_curator_name", "data_curator_type"],
    "properties": {"data_curator_name": TEXT, "data_curator_type": words(*CURATORS)},
}

SCHEMA = part(
    "url_slug deployment",
    url_slug=TEXT,
    deployment=part(
        "basic administrative",
        basic=part(
            "name data_curators description intended_use data_product_type data_product_region publication_date",
            name=TEXT,
            data_curators=several(CURATOR),
            description=TEXT,
            intended_use=TEXT,
            data_product_type=words(*PRODUCTS),
            data_product_region=TEXT,
            data_product_sector=words(*SECTORS),
            publication_date={"type": "string", "format": "date"},
        ),
        dp_variant=part(variant_name=words(*VARIANTS), data_domain=TEXT, unprotected_quantities=TEXT),
        privacy_loss=part(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            number_of_privacy_units=WHOLE,
            privacy_parameters=part(epsilon=NUMBER, delta={"type": ["number", "string"]}, rho=NUMBER),
            privacy_parameters_details=ANY,
        ),
        deployment_model=part(
            model_name=words(*MODELS),
            model_name_details=TEXT,
            trust_assumptions=TEXT,
            actors=ANY,
            release_type=words("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=words("Static", "Dynamic"),
            data_source_type_details=TEXT,
            access_type=words("Interactive", "Non-interactive"),
            access_type_details=TEXT,
        ),
        implementation=part(
            preprocessing_and_hyperparameter_tuning=TEXT,
            mechanisms=TEXT,
            composition=TEXT,
            post_processing=TEXT,
            justification=TEXT,
            utility=ANY,
            additional_information=ANY,
        ),
        administrative=part(
            "status registry_authors tier",
            evidence_sources={"type": "object"},
            status=words(*STATES),
            registry_authors=several(TEXT),
            tier={"type": "integer", "enum": [1, 2, 3]},
        ),
    ),
)

UNCHECKED = ("actors",)
"""Gaps that the schema leaves untyped, so that it takes a null."""
